// Command skerry is the one program of Skerry: it runs a site's agent, and it is the client that people and
// scripts talk to a running agent with.
//
// The client commands use the REST API of the agent and nothing else. They show tables to people, and with -o json
// what the agent answered, whatever members a newer agent may have added. Read it in this order: main.go for what
// all commands share, client.go for the way to the agent, table.go and list.go for what is printed, then the
// file of each command.
package main

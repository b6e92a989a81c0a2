// Package site starts and asks agents as their operators do: it writes their configuration, starts the program,
// lets the sites in by invitation and talks to the REST API.
//
// What differs between the demo and the test environment, namely where the processes run and how their addresses
// are reached, is handed in.
package site

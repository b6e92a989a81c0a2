// Package auth says who asks and what they may do. On loopback without accounts everyone may do everything; with accounts
// (a file of names, roles and password hashes) people log in and get a session, and programs have tokens. A token narrows what
// its bearer may do also where nobody has to log in.
//
// Read it in this order: role.go, guard.go for the way of a request, then accounts.go and password.go, keys.go for sessions and
// tokens, attempts.go for what slows guessing down. Which role a route needs is the server's to say (package web).
package auth

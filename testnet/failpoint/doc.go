// Package failpoint names the places where an agent can die: before and after each thing that its engine has done by a
// port, such as a commit, a request to the application or the publication of a change. It wraps the ports, so that the
// product has none of it.
//
// What happens at a point is its user's: testnet/failpoint/mortal is an agent that kills itself there, testnet/script lets a
// site in the same process do nothing more.
package failpoint

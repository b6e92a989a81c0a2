// Package hostile is a member of a mesh that means harm. It holds keys that were let in by an invitation, and does what the other sites
// must not suffer from: garbage on every protocol, forged and mutated letters, histories that no agent writes, requests to other agents that
// it has no right to, more streams, bytes and documents than it may have.
//
// Read member.go for what a member is, attacks.go for the table of what it does, and hostile_test.go for the three honest sites that it does
// this to: real agents with applications, in network namespaces, with clients that write and read meanwhile. What must hold at the end is in
// world_test.go: no agent has died, no two have split, what the member had no right to is as the clients left it, no agent took more memory
// than is stated, and the member is named.
// Each attack has to get through at least once, and the test fails where one did not: it would show nothing. What it is that an attack got through
// is for the attack to say; without an error it has.
//
//	make hostile                        for an hour
//	make hostile ARGS="-hostile.for 5m -hostile.only forks"
package hostile

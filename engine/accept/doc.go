// Package accept says what other sites may do at this one, as "accept" in its configuration has it. It is a pure function of the rules
// and of what the mesh calls whoever asks. Begin with judge.go.
package accept

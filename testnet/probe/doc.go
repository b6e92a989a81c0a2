// Package probe lets random clients ask real agents for things while agents are killed and sites cut off, in front of an application with the
// habits of real ones: what it makes is shown seconds later. In the end the application of every site is asked directly, and what it shows has to
// be what clients were told, and what agents say.
//
// application.go has the application, probe.go the clients and the trouble, judge.go what has to be so in the end.
package probe

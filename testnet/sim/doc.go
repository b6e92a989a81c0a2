// Package sim plays random schedules on a mesh of sites in virtual time: the real engine, documents, store and network
// of each, over simulated wires and a model of an application. Clients write at any site while links are cut, clocks are
// apart, applications fail, agents stop or die between two instructions. When all is healed, every site has to show
// the same and nothing acknowledged may be lost.
//
// There are two sorts of plans. In NewPlan's clients speak to the engines, and the application is a model that has rules of every
// sort. In NewPlanOfThings' they speak HTTP to whole agents in front of lab, and mix the operators of the scope language: replicas,
// cross resources, what lies inside them, names at exactly one site, large bodies.
//
// A Plan is all that happens in one schedule, drawn from a seed; Run plays it inside a testing/synctest bubble and
// returns what came of it. Read plan.go first, then site.go and check.go. Goroutines run in an order of their own, so
// that a seed gives the same schedule again, not the same bits.
package sim

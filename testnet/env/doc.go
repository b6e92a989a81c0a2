// Package env is the environment of the tests and benchmarks with real processes: from one declaration it makes sites,
// each a host of its own (testnet/netns) with an agent and an instance of an application, joined to one mesh.
//
//	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: env.Lab(program)})
//	e.Site("nantes").Cut(t)
//	answer := e.Site("paris").Do(t, "images", "POST /images", `{"name":"debian"}`, "Scope", "{images: paris & nantes}")
//
// When a test fails it shows what every site says of itself, and the end of every log.
//
// Open and the methods with a context serve programs that are no tests; those with a testing.TB end the test when
// they fail.
package env

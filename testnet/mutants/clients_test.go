package mutants

// ofClients are faults in what keeps clients apart.
func ofClients() []mutant {
	return []mutant{
		// Whoever guesses an id has another's requests, and their token, come to a site of their choice.
		{"ids count for everybody", []edit{
			{"web/intercept/handler.go", "h.Correlations.IDs(r.Header, q.Shown())", "h.Correlations.IDs(r.Header, \"\")"},
		}, "web/intercept", "TestInvariantAGuessedIdMovesNobody"},
		{"workflows of strangers are remembered", []edit{
			{"web/intercept/workflow.go", "left(told.let())", "left(true)"},
		}, "web/intercept", "TestNothingIsRememberedForWhomTheApplicationDoesNotLetIn"},
		// A cookie's answer is given to the next who has the same key.
		{"cookies tell nobody apart", []edit{
			{"web/intercept/request/caller.go", `"cookie", `, ""},
		}, "web/intercept/request", "TestInvariantKeysAreTheirCallersOwn"},
		{"keys of strangers are kept", []edit{
			{"engine/front/submit.go", "&& !letIn(a.Status)", "&& false && !letIn(a.Status)"},
		}, "engine/front", "TestWhoIsNotLetInLeavesNothing"},
	}
}

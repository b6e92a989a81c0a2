package mutants

// ofClients are faults in what keeps clients apart.
func ofClients() []mutant {
	return []mutant{
		// A link that was read over a shoulder lets its reader in.
		{"a link counts more than once", []edit{
			{"web/auth/once.go", "o.left = append(o.left[:i], o.left[i+1:]...)", "_ = i"},
		}, "web", "TestALinkLetsOneBrowserIn"},
		{"a link counts for ever", []edit{
			{"web/auth/once.go", "return now.Before(l.expires)", "return l.expires.After(l.expires.Add(-1))"},
		}, "web", "TestALinkLetsOneBrowserIn"},
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
		{"keys are everybody's", []edit{
			{"engine/keys/keys.go", "digest(\"key\", r.Caller,", "digest(\"key\", \"\","},
		}, "cmd/agent", "TestKeysOfOthersTellNothing"},
		// What is sent again after a failure gains the agent's rights.
		{"who shows nothing acts as the agent the next time", []edit{
			{"engine/front/submit.go", "s := &engine.Credentials{}\n\tif c != nil {", "s := &engine.Credentials{}\n\tif c != nil && len(c.Header) == 0 {\n\t\treturn nil\n\t}\n\tif c != nil {"},
		}, "testnet/mesh", "TestInvariantWhatIsSentAgainGainsNoRights"},
		{"who shows nothing has room of its own", []edit{
			{"engine/outbox/outbox.go", "if !e.Request.Anonymous {", "if true {"},
		}, "cmd/agent", "TestWhoShowsNothingFillsNoDisk"},
		// What has happened is taken not to have.
		{"a first try has not happened where the second is refused", []edit{
			{"engine/flight/fate.go", "if !certain {", "if false && !certain {"},
		}, "engine/flight", "TestFate"},
		{"who proves who they are in a query is everybody", []edit{
			{"web/intercept/request/caller.go", "if q.URL != nil {", "if false && q.URL != nil {"},
		}, "web/intercept/request", "TestInvariantKeysAreTheirCallersOwn"},
		{"keys of strangers are kept", []edit{
			{"engine/front/submit.go", "&& !letIn(a.Status)", "&& false && !letIn(a.Status)"},
		}, "engine/front", "TestWhoIsNotLetInLeavesNothing"},
		// A hundred bodies that never end keep everybody else's out.
		{"slow bodies stay", []edit{
			{"web/intercept/request/bodies.go", "more, slowest := b.more, b.slowest()", "more, slowest := b.more, (*coming)(nil)"},
		}, "web/intercept", "TestInvariantSlowBodiesHoldUpNobody"},
		{"bodies may stall", []edit{
			{"web/intercept/request/bodies.go", "SetReadDeadline(time.Now().Add(c.stall))", "SetReadDeadline(time.Now().Add(5 * time.Minute))"},
		}, "web/intercept", "TestABodyThatStallsIsGivenUp"},
		{"what is kept grows", []edit{
			{"engine/outbox/outbox.go", "case !o.room.Take(who, bytes, e.Sent != \"\"):", "case !o.room.Take(who, bytes, true):"},
		}, "engine/front", "TestInvariantWhatIsKeptIsBounded"},
		{"one address has all connections", []edit{
			{"cmd/agent/bounds.go", "!b.many(from.Addr()) && b.open[from] >= b.most.Client", "false && b.open[from] >= b.most.Client"},
		}, "cmd/agent", "TestConnectionsAreBounded"},
		// A request hides in another one's body.
		{"lines end anyhow", []edit{
			{"web/door/head.go", "strict && (i == 0 || b[i-1] != '\\r')", "false && strict"},
		}, "web/door", "TestInvariantOneReading"},
		{"two framings are one", []edit{
			{"web/door/head.go", "case lengths+codings > 1, hosted > 1,", "case lengths > 1, codings > 1, hosted > 1,"},
		}, "web/door", "TestInvariantOneReading"},
		{"chunks end anyhow", []edit{
			{"web/door/chunked.go", "c.line = 0\n\t\treturn b == '\\n'", "c.line = 0\n\t\treturn true"},
		}, "web/door", "TestInvariantOneReading"},
		// A client gets what was no answer to it.
		{"what comes unasked is an answer", []edit{
			{"web/door/pool.go", "< idleLink && !k.stirs() {", "< idleLink {"},
		}, "web/door", "TestUnaskedAnswers"},
		{"what changes something is sent twice", []edit{
			{"web/door/exchange.go", "x.k.w == 0 && x.r.repeatable() &&", "x.k.w == 0 &&"},
		}, "web/door", "TestConnectionsThatAreClosedMeanwhile"},
		{"what is replicated passes", []edit{
			{"web/intercept/plain.go", "case translates || h.Site.Replicates(m.Kind):", "case translates:"},
		}, "web/intercept", "TestWhatIsPlain"},
		// A client says that it is on the machine, or an administrator.
		{"clients say where they are", []edit{
			{"web/intercept/request/forwarded.go", "if from != \"\" || !proxies.Trusts(peer) {", "if from != \"\" {"},
		}, "web/intercept/request", "TestInvariantClientsDoNotSayWhereTheyAre"},
		{"clients say so after the body", []edit{
			{"web/intercept/passage/passage.go", "if r.Out.Trailer != nil {", "if false {"},
		}, "web/intercept", "TestTrailersAndInformation"},
		// Another user of the machine closes its end, and counts as root.
		{"closed sockets are root's", []edit{
			{"web/auth/owner_linux.go", "case inode == 0:", "case false && inode == 0:"},
		}, "web/auth", "TestInvariantOnlyTheOwnUserComesInOverLoopback"},
		// An authority that was taken out of its file lets in for ever.
		{"certificates are read once", []edit{
			{"glue/watched.go", "if same(f.seen, now) {", "if true || same(f.seen, now) {"},
		}, "cmd/agent", "TestFilesOfCertificatesAreReadAgain"},
		// 51,000 attempts to log in push out who has changed what.
		{"strangers fill the trail", []edit{
			{"web/audit/log.go", "if p.made >= Hourly {", "if false && p.made >= Hourly {"},
		}, "web/audit", "TestInvariantNobodyPushesTheTrailOut"},
		{"what cannot be recorded happens", []edit{
			{"web/auditing.go", "n, err := s.note(c.Request().Context(), source, record)\n\tif err != nil {", "n, err := s.note(c.Request().Context(), source, record)\n\tif false && err != nil {"},
		}, "web", "TestInvariantNothingHappensUnrecorded"},
		// Whoever can write to the disk makes a trail of their own.
		{"the chain needs no key", []edit{
			{"web/audit/record.go", "hmac.New(sha256.New, key)", "hmac.New(sha256.New, nil)"},
		}, "web/audit", "TestWhatIsTamperedWithIsFound"},
		{"names fill the memory", []edit{
			{"web/auth/guard.go", "case !accountName.MatchString(name): // no", "case false: // no"},
		}, "web/auth", "TestLongNamesAreNotRemembered"},
		// Guesses from elsewhere keep a person out.
		{"no browser is known", []edit{
			{"web/auth/guard.go", "return id, len(id) == 16 && hmac.Equal(", "return id, false && hmac.Equal("},
		}, "web", "TestInvariantGuessesKeepNobodyOut"},
		{"whoever says so is known", []edit{
			{"web/auth/guard.go", "return id, len(id) == 16 && hmac.Equal([]byte(seal), []byte(g.sealed(id, account)))", "return id, len(id) == 16 && seal != account"},
		}, "web", "TestInvariantGuessesKeepNobodyOut"},
		// Who may look keeps whoever may decide from logging in.
		{"sessions without an end", []edit{
			{"web/auth/keys.go", "case own >= maxOwn && k.By == BySession:", "case false:"},
		}, "web/auth", "TestNobodyFillsTheRoomOfKeys"},
		{"one account has all tokens", []edit{
			{"web/auth/keys.go", "case own >= maxOwn:", "case false:"},
		}, "web/auth", "TestNobodyFillsTheRoomOfKeys"},
		{"one viewer has all streams", []edit{
			{"web/api/streams.go", "case s.of[who] >= s.viewer:", "case false:"},
		}, "web", "TestStreamsOfOneViewerAreBounded"},
		{"who says nothing has all streams", []edit{
			{"web/api/streams.go", "case s.of[who] >= s.viewer:", "case who != \" \" && s.of[who] >= s.viewer:"},
		}, "web", "TestStreamsOfAMachineAreBounded"},
		// One client of a proxy has all of them wait, or none.
		{"a proxy of the second rank is a client", []edit{
			{"web/server.go", "trust = append(trust, echo.TrustIPRange(", "_ = append(trust, echo.TrustIPRange("},
		}, "web", "TestClientsBehindOneProxy"},
		{"tokens outlive what they were made with", []edit{
			{"web/auth/keys.go", "if k.Maker != \"\" {", "if false && k.Maker != \"\" {"},
		}, "web", "TestATokenEndsWithWhatMadeIt"},
		{"tokens outlive the password", []edit{
			{"web/auth/keys.go", "if !ok || k.Password != place(a.Hash) {", "if !ok || by == BySession && k.Password != place(a.Hash) {"},
		}, "web", "TestWhatIsTakenFromAnAccountCounts"},
	}
}

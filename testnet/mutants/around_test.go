package mutants

// travelling are faults in what sites take from each other.
func travelling() []mutant {
	return []mutant{
		// A relay forges what it passes on.
		{"signatures are not checked", []edit{
			{"crdt/documents.go", "if err := d.verifyChange(a, statement(id, epoch, h), c.Signature); err != nil {", "if err := d.verifyChange(a, statement(id, epoch, h), c.Signature); false && err != nil {"},
		}, "crdt", "TestGate"},
		// What a site has signed for one thing counts for another.
		{"a signature over statuses counts for changes", []edit{
			{"crdt/sign.go", "changesDomain  = \"skerry changes\\x00\"", "changesDomain  = \"skerry statuses\\x00\""},
		}, "crdt", "TestForgedChangesTogether"},
		// A member proves of an honest site that it has forked its line, by what that has written elsewhere.
		{"a change counts in any document", []edit{
			{"crdt/sign.go", "binary.BigEndian.AppendUint64(append(b, of...), epoch)", "binary.BigEndian.AppendUint64(b, epoch)"},
		}, "testnet/world", "TestInvariantAnHonestLineIsNeverForked"},
		// A site goes on with a line of which it has lost the end.
		{"a number is given twice", []edit{
			{"engine/site/wakeup.go", "if w.s.writes.given.Has(c) {", "if false && w.s.writes.given.Has(c) {"},
		}, "testnet/world", "TestInvariantNoNumberIsGivenTwice"},
		{"a change counts in any epoch", []edit{
			{"crdt/sign.go", "binary.BigEndian.AppendUint64(append(b, of...), epoch)", "append(b, of...)"},
		}, "crdt", "TestGate"},
		// Bytes that a member has made up take down the process that decodes them.
		{"the gate lets through what no site writes", []edit{
			{"crdt/documents.go", "if !p.wrote(c.Bytes, entries) {", "if false && !p.wrote(c.Bytes, entries) {"},
		}, "crdt", "TestGate"},
		// A member puts its line where nobody can write after it.
		{"counters run away", []edit{
			{"crdt/documents.go", "if p.begins < least+before || p.begins > least+before*engine.MaxEntries {", "if false && p.begins < least+before*engine.MaxEntries {"},
		}, "crdt", "TestGate"},
		// A member tells two sites two things, and they stay apart for good.
		{"a fork voids nothing", []edit{
			{"engine/fork.go", "return epoch > f.Epoch || epoch == f.Epoch && number >= f.Number", "return epoch > f.Epoch && number >= f.Number"},
		}, "testnet/world", "TestAFork"},
		{"of two forks of a line the one counts that was heard first", []edit{
			{"engine/fork.go", "if known, is := all[f.Line]; is && !f.Before(&known) {", "if known, is := all[f.Line]; is && known.Number > 0 {"},
		}, "testnet/world", "TestInvariantForkedLinesEndAlike"},
		{"forks are not passed on", []edit{
			{"engine/site/exchange.go", "if h.Forks.News(&f.Fork) {", "if false && h.Forks.News(&f.Fork) {"},
		}, "testnet/world", "TestInvariantForkedLinesEndAlike"},
		{"a word on an epoch is not kept", []edit{
			{"engine/view/sum.go", "return len(v.Epochs) > 1 && v.Mine.Word == v.Current().Number && !other(v, but, beyond)", "return false && !other(v, but, beyond)"},
		}, "engine/view", "TestAWordIsKept"},
		{"whoever has less makes a site take its word back", []edit{
			{"engine/view/sum.go", "return c > 0 || c == 0 && !bytes.Equal(told, mine)", "return c != 0 || !bytes.Equal(told, mine)"},
		}, "engine/view", "TestAWordIsKept"},
		// A member says that others have gone on, and they drop what they have.
		{"what is here is let go of on one member's word", []edit{
			{"engine/view/rejoin.go", "return 2*without > all ||", "return without > 0 || all < 0 ||"},
		}, "engine/hear", "TestOneMemberMakesNobodyLetGo"},
		// A member fills the disks of others with proofs against itself.
		{"forks are kept without an end", []edit{
			{"engine/fork.go", "return from, n >= MaxForks", "return from, n >= 1<<30"},
		}, "testnet/world", "TestManyForksAreBounded"},
		{"statuses are forged", []edit{
			{"crdt/sign.go", "if !d.scheme.Verify(a.key, signed(domain, root), signature) {", "if false && !d.scheme.Verify(a.key, signed(domain, root), signature) {"},
		}, "crdt", "TestForgedStatuses"},
		{"a status need not be in the batch that was signed", []edit{
			{"crdt/merkle.go", "root = nodeHash(beside, &root)", "_ = nodeHash(beside, &root)"},
		}, "crdt", "TestForgedStatuses"},
		{"a node passes for a leaf", []edit{
			{"crdt/merkle.go", "b[0] = 1\n", "b[0] = 0\n"},
		}, "crdt", "TestMerkleTree"},
		{"one site has two names", []edit{
			{"crdt/author.go", "if p.String() != string(id) || key.Type()", "if key.Type()"},
		}, "crdt", "TestSignAndVerify"},
		// What gossip loses never arrives.
		{"anti-entropy is off", []edit{
			{"p2p/compare.go", "if due && l.isUp() {", "if false && due && l.isUp() {"},
		}, "p2p", "TestLostLettersAreRepaired"},
		{"strangers are let in", []edit{
			{"p2p/gater.go", "return !shut && m != nil && m.IsMember(site)", "return !shut && m != nil"},
		}, "p2p", "TestJoinIsRefused"},
		{"a secret may be guessed without an end", []edit{
			{"p2p/gater.go", "&& g.wrongOf(from) < maxWrong", "&& g.wrongOf(from) >= 0"},
		}, "p2p", "TestJoinIsRefused"},
		// A site that takes nothing in takes all of the others' memory.
		{"what waits for a slow site grows", []edit{
			{"p2p/queue.go", "len(q.packets) < queueLetters &&", ""},
		}, "p2p", "TestQueueIsBounded"},
	}
}

// storing are faults of what is kept.
func storing() []mutant {
	return []mutant{
		// Acknowledged operations are gone after a power failure.
		{"the disk is not synced", []edit{
			{"storage/writer.go", "&_synchronous=FULL", "&_synchronous=OFF"},
			{"storage/store.go", `"synchronous": "2"`, `"synchronous": "0"`},
		}, "storage", "TestDurabilitySettings"},
		// Who can write to the disk puts one user's data in the place of another's.
		{"what is sealed opens anywhere", []edit{
			{"storage/vault.go", "return v.aead.Seal(b, nonce, data, place)", "return v.aead.Seal(b, nonce, data, nil)"},
			{"storage/vault.go", "v.aead.Open(room[:0], nonce, box, place)", "v.aead.Open(room[:0], nonce, box, nil)"},
		}, "storage", "TestValuesKeepTheirPlaces"},
		// What was decided counts as if it waited still.
		{"conflicts are counted once", []edit{{"storage/commit.go", "\ts.causes.forget(b)\n", ""}}, "storage", "TestConflicts"},
		// A client is refused what another site sends at the same time.
		{"a body comes from one side only", []edit{
			{"storage/incoming.go", "in.blobs.mu.Lock() // the same blob may be taken in from a client meanwhile\n", "in.blobs.mu.Lock()\n\tin.blobs.mu.Unlock()\n"},
			{"storage/incoming.go", "err := in.blobs.writeDigests(in.ref, d)\n\tin.blobs.mu.Unlock()\n", "err := in.blobs.writeDigests(in.ref, d)\n"},
		}, "storage", "TestABlobComesFromTwoSidesAtOnce"},
	}
}

// serving are faults towards clients, people and the application.
func serving() []mutant {
	return []mutant{
		// Who shows nothing acts as the agent.
		{"the agent's credentials are lent", []edit{
			{"glue/upstream.go", "if caller != nil {\n\t\treturn caller.Header, nil", "if caller != nil && len(caller.Header) > 0 {\n\t\treturn caller.Header, nil"},
		}, "glue", "TestNobodyIsLentTheAgentsCredentials"},
		// An application that would not repeat a request does.
		{"the idempotency key is not sent", []edit{
			{"glue/client.go", `if call.Key != "" {`, `if false && call.Key != "" {`},
		}, "glue", "TestDoTranslatesAndPresents"},
		{"answers are read without a bound", []edit{
			{"glue/client.go", "case int64(len(r.Body)) > c.config.MaxReply && Safe(call.Method):", "case false:"},
		}, "glue", "TestDoBounds"},
		// What has happened is taken not to have, and is done again.
		{"who hung up has not been reached", []edit{
			{"glue/client.go", "if err != nil && !connected {", "if err != nil && (!connected || true) {"},
		}, "glue", "TestDoTellsWhatIsCertain"},
		// A page of somebody else's, open in a browser, gives orders.
		{"any host's name will do", []edit{
			{"web/guard.go", "if !s.hosts[r.Host] {", "if false && !s.hosts[r.Host] {"},
		}, "web", "TestForeignHostsAndOriginsAreRefused"},
		{"who may look gives orders", []edit{
			{"web/policy.go", "case p.Role >= role:", "case p.Role > auth.Anyone:"},
		}, "web", "TestEveryRouteForEveryRole"},
		{"a token makes a stronger one", []edit{
			{"web/auth/keys.go", "case role > by.Role:", "case false && role > by.Role:"},
		}, "web", "TestTokens"},
		{"a session never ends", []edit{
			{"web/auth/keys.go", "if k.By != by || !g.now().Before(k.Expires) {", "if k.By != by {"},
		}, "web", "TestLoginAndLogout"},
		{"the audit trail may be changed", []edit{
			{"web/audit/log.go", "case sum != r.Hash:", "case false && sum != r.Hash:"},
		}, "web/audit", "TestWhatIsTamperedWithIsFound"},
		// Two scopes keep two agents busy with one request for ever.
		{"a request runs in circles", []edit{
			{"web/intercept/hear.go", "if slices.Contains(q.Via, self) || len(q.Via) > maxVia {", "if false && (slices.Contains(q.Via, self) || len(q.Via) > maxVia) {"},
		}, "web/intercept", "TestARequestThatComesRoundIsRefused"},
		{"strangers speak as agents", []edit{
			{"web/intercept/hear.go", "if !m.IsMember(from) {", "if false && !m.IsMember(from) {"},
		}, "web/intercept", "TestPeers"},
		{"who has no part asks for everything", []edit{
			{"web/api/elsewhere.go", "if call.Who == engine.HasPart {", "if false {"},
		}, "cmd/agent", "TestEveryCallBetweenAgents"},
		{"content goes to whoever says a name", []edit{
			{"web/intercept/hear.go", "if call.Who == engine.HasPart {", "if false {"},
			{"web/intercept/hear.go", "if n := len(q.Via); n == 0 || q.Via[n-1] != q.From {", "if len(q.Via) == 0 {"},
		}, "cmd/agent", "TestEveryCallBetweenAgents"},
		// A member does what the configuration of a site says that it may not.
		{"what users of other sites ask for is done with the agent's rights", []edit{
			{"glue/client.go", "if call.As != nil {", "if false && call.As != nil {"},
		}, "cmd/agent", "TestWithTheRightsOfUsers"},
		{"what is not accepted is sent", []edit{
			{"engine/view/accept.go", "case why != \"\" && (!held", "case false && (!held"},
		}, "testnet/script", "TestScripts/not-accepted"},
		{"a placement makes what its origin may not create", []edit{
			{"engine/plan/next.go", "o.Type == engine.TypePlace && s.Blocked(o)", "false && s.Blocked(o)"},
		}, "testnet/script", "TestScripts/not-accepted-placement"},
		{"requests that are passed on are not judged", []edit{
			{"web/intercept/hear.go", "if v := h.accepts(q); !v.Accepted {", "if v := h.accepts(q); false && !v.Accepted {"},
		}, "cmd/agent", "TestWhatASiteAccepts"},
		{"a member lets itself in", []edit{
			{"web/api/elsewhere.go", "call.Does != \"\" && err != nil {", "false && err != nil {"},
			{"web/api/conflicts.go", "r.Action == string(engine.ActionAccept) && from != a.Mesh.Self() {", "false {"},
		}, "cmd/agent", "TestWhatASiteAccepts"},
		{"other sites reach what no catalog describes", []edit{
			{"web/intercept/hear.go", "!described && !(list && call.Name == engine.CallListPart) {", "false && !described && !list {"},
		}, "cmd/agent", "TestOtherSitesReachWhatTheCatalogDescribes"},
		{"other sites send any header", []edit{
			{"web/intercept/hear.go", "!h.Client.Travels(h.Service, name) {", "false {"},
		}, "cmd/agent", "TestEveryCallBetweenAgents"},
		{"a rival takes the place of what lives", []edit{
			{"engine/replica/name.go", "if other.Born != nil && other.Object && !r.env.Claimed(other.Document) {", "if r.env.Claim(other.Document, false); false {"},
		}, "testnet/mesh", "TestARivalDatedZeroDeletesNothing"},
		{"a body that is too long is read whole", []edit{
			{"web/intercept/request/request.go", "if int64(len(body)) > limit {", "if false && int64(len(body)) > limit {"},
		}, "web/intercept", "TestBodiesOverTheLimit"},
	}
}

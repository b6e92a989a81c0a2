package mutants

// ofMembers are faults in what bounds the harm that a member can do.
func ofMembers() []mutant {
	return []mutant{
		// 700 streams of one member take 1.2 GiB.
		{"a member opens what streams it likes", []edit{
			{"p2p/link.go", "if l.streams[id] == most {", "if false && l.streams[id] == most {"},
		}, "p2p", "TestStreamsOfAMemberAreBounded"},
		// Nobody else is called through a relay any more.
		{"a member has a relay for itself", []edit{
			{"p2p/relay.go", "return m.open(from, proto.ProtoIDv2Hop) <=", "return true || m.open(from, proto.ProtoIDv2Hop) <="},
		}, "p2p", "TestNobodyHasARelayForThemselves"},
		{"a member has a relay for itself by asking for all at once", []edit{
			{"p2p/relay.go", "proto.ProtoIDv2Stop)-coming", "proto.ProtoIDv2Stop)"},
		}, "p2p", "TestNobodyHasARelayForThemselvesAtOnce"},
		// A relay that passes on what makes a connection and nothing more keeps two sites apart for ever.
		{"a relay that swallows is tried first", []edit{
			{"p2p/relay.go", "cmp.Or(u.when(a.by.site).Compare(u.when(b.by.site)), cmp.Compare(a.rtt, b.rtt))", "cmp.Compare(a.rtt, b.rtt)"},
		}, "p2p", "TestRelaysAreTriedInOrder"},
		{"a member opens what lanes it likes", []edit{
			{"p2p/lane.go", "!l.opened(laneCount, 2*mostLanes)", "!l.opened(laneCount, 1<<20)"},
		}, "p2p", "TestLanesOfStrangers"},
		{"a certificate is good before its time", []edit{
			{"engine/mesh/member.go", "return now.Add(fresh).UnixMicro() >= c.From && (", "return ("},
		}, "engine/mesh", "TestCertificatesOfOddDates"},
		// Who tells one site alone of a time years ahead has it date its writes there.
		{"members that lie set a site's clock", []edit{
			{"p2p/clock.go", "len(near) > 0 || !most {", "!most {"},
		}, "p2p", "TestInvariantLiarsLeadNobodyAstray"},
		{"letters are taken in without a bound", []edit{
			{"p2p/intake.go", "letters: make(chan struct{}, lettersInFlight)", "letters: make(chan struct{}, 1<<20)"},
		}, "p2p", "TestLettersInFlight"},
		// Items of one byte each take ten times their length, and more.
		{"dense messages are decoded", []edit{
			{"p2p/frame.go", "n, most := items(b), fewItems+len(b)/minItem; n > most {", "n, most := items(b), fewItems+len(b)/minItem; false && n > most {"},
		}, "p2p", "TestDenseMessagesAreRefused"},
		{"who keeps breaking the rules stays", []edit{
			{"p2p/refuse.go", "len(r.recent) < maxRefusals {", "len(r.recent) < 1<<30 {"},
		}, "p2p", "TestBans"},
		{"a comparison wants what it likes", []edit{
			{"p2p/message.go", "len(m.Want) == 0 || len(m.Want) > wantDocuments {", "len(m.Want) == 0 {"},
		}, "p2p", "TestMessagesOutOfBounds"},
		{"a comparison begins as it likes", []edit{
			{"p2p/find.go", "if open.Step != stepOpen {", "if false {"},
		}, "p2p", "TestComparisonsOutOfTurn"},
		{"whoever has no part brings a checkpoint", []edit{
			{"engine/hear/hear.go", "case in.Checkpoint != nil && !h.Blank() && h.Part(in.From) == view.PartNone:", "case false:"},
		}, "engine/hear", "TestOneMemberMakesNobodyLetGo"},
		{"a name is had twice", []edit{
			{"engine/mesh/member.go", "if taken[m.Name] {", "if false {"},
		}, "engine/mesh", "TestTheFirstKeepsAName"},
		// An honest site whose catalog lacks a kind is banned, and bans.
		{"what is unknown breaks the rules", []edit{
			{"p2p/intake.go", "errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrMissing)", "errors.Is(err, engine.ErrRefused) || errors.Is(err, engine.ErrUnknown), errors.Is(err, engine.ErrMissing)"},
		}, "p2p", "TestWhatIsUnknownIsNotRefused"},
		{"a member places what it likes", []edit{
			{"engine/site/prints.go", "if of.number < most {", "if of.number < most || most > 0 {"},
		}, "testnet/mesh", "TestInvariantAMemberPlacesNoMoreThanItMay"},
		// A letter of two seconds fills what all sites have to exchange.
		{"the mesh keeps what was said before", []edit{
			{"engine/mesh/state.go", "if old != nil && r.newer(old) <= 0 {", "if r.Key.About += fmt.Sprint(r.Number); old != nil && r.newer(old) <= 0 {"},
		}, "engine/mesh", "TestSizeFollowsTheNumberOfSites"},
		// What a member says too much of keeps honest sites apart, and busy with each other.
		{"what came first stays", []edit{
			{"engine/mesh/state.go", "if r.Key.Compare(last.Key) > 0 {", "if r != last {"},
		}, "engine/mesh", "TestInvariantSitesAgreeOnWhatIsTooMuch"},
		// Who puts its clock ahead has the last word for as long.
		{"times ahead of all clocks count at once", []edit{
			{"engine/replica/holds.go", "ahead > r.env.Ahead() && o.Origin != r.Self {", "false && ahead > r.env.Ahead() && o.Origin != r.Self {"},
		}, "testnet/mesh", "TestWhatIsDatedTooFarAheadWaits"},
		// Who reads the name of a site takes it for another one.
		{"names may look alike", []edit{
			{"engine/mesh/alike.go", "return looksOf(a) == looksOf(b)", "return a == b"},
		}, "engine/mesh", "TestALookAlikeIsNotLetIn"},
		// Whoever has heard of an identifier has its answer.
		{"who passes on an operation may be anybody", []edit{
			{"engine/keys/keys.go", "a.From != keep.From && key == Operation(r.Operation)", "false && a.From != keep.From && key == Operation(r.Operation)"},
		}, "engine/front", "TestAnOperationIsBoundToWhoPassedItOn"},
		{"an operation stands for whatever comes under its identifier", []edit{
			{"engine/front/submit.go", "case err == nil && r.From() != \"\" && !bound", "case false && err == nil && r.From() != \"\" && !bound"},
		}, "engine/front", "TestAnOperationIsBoundToWhoPassedItOn"},
		{"a body goes to whoever asks for it", []edit{
			{"engine/site/exchange.go", "refers = shares(r, with) && slices.ContainsFunc", "refers = slices.ContainsFunc"},
		}, "cmd/agent", "TestEveryCallBetweenAgents"},
		// An operation that can never be carried out is tried for ever, and the queue of its service stands still.
		{"a poisoned operation is never set aside", []edit{
			{"engine/service/service.go", "return st.number >= few && (", "return false && st.number >= few && ("},
		}, "engine/service", "TestStumbles"},
		{"one object that is forbidden stops its service", []edit{
			{"engine/service/answer.go", "a.Health = Forbidden", "a.Health = Denied"},
		}, "engine/service", "TestHear"},
		// Ten seconds after each start the agent dies of it again.
		{"a defect takes all resources along", []edit{
			{"engine/site/wakeup.go", "if p := recover(); p != nil {\n\t\t\t\tw.s.cfg.Log.Error(\"a defect has struck a resource: it is set aside\"", "if p := any(nil); p != nil {\n\t\t\t\tw.s.cfg.Log.Error(\"a defect has struck a resource: it is set aside\""},
		}, "engine/site", "TestAPanicSetsTheResourceAside"},
		{"a repair of nothing is an operation", []edit{
			{"engine/operation.go", "case o.Keep && o.Edit == nil:", "case false && o.Keep && o.Edit == nil:"},
			{"engine/operation.go", "case needs && o.Edit == nil:", "case false && needs && o.Edit == nil:"},
		}, "testnet/mesh", "TestInvariantRepairOfNothingIsRefused"},
		{"any checkpoint is one", []edit{
			{"engine/view/stored.go", "if err := f.validate(); err != nil {", "if err := f.validate(); false && err != nil {"},
		}, "engine/view", "FuzzFoundation"},
		// A JSON Patch of a few kilobytes keeps a processor busy for minutes.
		{"a patch moves what it likes", []edit{
			{"engine/tree/patch.go", "a.moved > maxMoved {", "false && a.moved > maxMoved {"},
		}, "engine/tree", "TestPatchesAreBounded"},
		// One of less than two kilobytes takes gigabytes.
		{"a patch copies what it likes", []edit{
			{"engine/tree/patch.go", "a.copied > engine.MaxLooked {", "false && a.copied > engine.MaxLooked {"},
		}, "engine/tree", "TestPatchesAreBounded"},
		// Somebody's change is listed under another's name.
		{"an operation of another document takes the row", []edit{
			{"storage/statements.go", "WHERE id = ? AND (subject = 0 OR subject = ?9)`", "WHERE id = ? AND (subject = 0 OR ?9 <> 0)`"},
		}, "storage", "TestEveryOperationColumnIsWrittenAlone"},
		// The queue of a service counts as unreachable for what can never be sent.
		{"any header is an operation's", []edit{
			{"engine/operation.go", "strings.ContainsFunc(value, func(c rune) bool { return c < ' ' &&", "strings.ContainsFunc(value, func(c rune) bool { return false && c < ' ' &&"},
		}, "engine", "TestHeadersOfOperations"},
		{"what was not sent is the application's fault", []edit{
			{"engine/service/answer.go", "a.Health = Unsent", "a.Health = Fails"},
		}, "engine/service", "TestHear"},
		// Who may change nothing at a site has it take in whatever it says was before.
		{"a checkpoint is taken from anybody", []edit{
			{"engine/accept/judge.go", "if a.Accepted && a.As == engine.AsUser {", "if false {"},
			{"engine/accept/judge.go", "if !a.Accepted {", "if false {"},
		}, "engine/accept", "TestCheckpointsCountAsCreates"},
		{"who has sent a checkpoint is not asked about", []edit{
			{"engine/site/receive.go", "if p.Checkpoint != nil && s.cfg.Accept != nil {", "if false {"},
		}, "engine/site", "TestACheckpointIsTakenFromWhomTheSiteAcceptsOne"},
		// A member writes under as many keys as it likes.
		{"a key that nobody has let in is a member's", []edit{
			{"engine/accept/judge.go", "if !j.Sites.WasAdmitted(w.From) {", "if false && !j.Sites.WasAdmitted(w.From) {"},
		}, "testnet/world", "TestAKeyThatNobodyHasLetInWritesNothing"},
		{"without rules nobody is judged", []edit{
			{"engine/accept/judge.go", "|| site != j.Sites.Self() && !j.Sites.WasAdmitted(site)", "|| site != j.Sites.Self() && false"},
		}, "testnet/world", "TestAKeyThatNobodyHasLetInWritesNothing"},
		{"who joins stays unheard", []edit{
			{"engine/site/site.go", "if joined || s.cfg.Accept", "if s.cfg.Accept"},
		}, "testnet/world", "TestAKeyThatNobodyHasLetInWritesNothing"},
		{"keys that nobody has let in speak for their sites", []edit{
			{"engine/site/receive.go", "if !s.cfg.Members.WasAdmitted(one.Site) {", "if false {"},
		}, "engine/site", "TestAStatusOfWhomNobodyHasLetInIsNotTaken"},
	}
}

package mutants

// folding are faults in what operations amount to.
func folding() []mutant {
	return []mutant{
		// A body that some client sends takes the agent down.
		{"JSON is nested without an end", []edit{
			{"engine/tree/json.go", "if depth++; depth > engine.MaxDepth {", "if depth++; false && depth > engine.MaxDepth {"},
		}, "engine/tree", "TestDepthIsBounded"},
		{"numbers are as long as they like", []edit{
			{"engine/tree/decimal.go", "if len(digits) == 0 || len(digits) > maxDigits ||", "if len(digits) == 0 ||"},
		}, "engine/tree", "TestDecimalsAreExactAndBounded"},
		// One of two elements of an array is lost.
		{"two elements have one key", []edit{
			{"engine/tree/elements.go", "if _, twice := e.by[token]; !ok || twice {", "if _, twice := e.by[token]; !ok || false && twice {"},
		}, "engine/tree", "TestWhatIsNoKeyedArray"},
		// The parts of a cross resource have more together than was asked for.
		{"shares do not add up", []edit{
			{"engine/tree/parts.go", "if left.Cmp(big.NewInt(int64(at))) > 0 {", "if left.Cmp(big.NewInt(int64(at))) >= 0 {"},
		}, "engine/tree", "TestSharesOfAnInteger"},
		// After a start, what was never sent takes away what the application has by itself.
		{"what nobody has set is taken back unseen", []edit{
			{"engine/plan/correct.go", "return may && !slices.ContainsFunc(values,", "return false && may && !slices.ContainsFunc(values,"},
		}, "engine/plan", "TestWhatWasNeverSentTakesNothingAway"},
		// Concurrent values are lost without a word.
		{"everything before has been seen", []edit{
			{"engine/merge/order.go", "return b.Saw(p.Line, p.Number)", "return true"},
		}, "engine/merge", "TestWhatWasAddedUpStaysSo"},
		// Values that somebody has replaced on purpose are listed as lost.
		{"causal pairs are taken for concurrent ones", []edit{
			{"engine/merge/fold.go", "if concurrent(old.By, by.By) {", "if true {"},
		}, "engine/merge", "TestASupersededValueIsKept"},
		// What one side of a cut has made is deleted by a delete that never saw it.
		{"a delete ends creates that it has not seen", []edit{
			{"engine/merge/living.go", "if !slices.ContainsFunc(deletes, func(d *engine.Operation) bool { return before(c, d) }) {", "if len(deletes) == 0 {"},
		}, "engine/plan", "TestADeleteNeverDiscardsACreateItDidNotSee"},
		// What somebody has done on purpose after something else undoes that, by a rule for what is done at the same time.
		{"a rule is applied to what has seen the other", []edit{
			{"engine/merge/living.go", "if before(o, w) { // and", "if false { // and"},
			{"engine/merge/living.go", "case !one && !sameBytes, before(o, w):", "case !one && !sameBytes:"},
		}, "engine/plan", "TestALaterChangeTakesThePlaceOfOpaqueBytes"},
		// A site corrects its application to values that nobody has set together.
		{"a fold goes on from any other", []edit{
			{"engine/merge/folded.go", " && slices.Equal(b.ops, counting[:len(b.ops)])", ""},
		}, "engine/merge", "TestInvariantAFoldFromAnEarlierOneIsTheSame"},
		// What builds on an operation that is lost is done without it.
		{"what has gaps is taken in", []edit{
			{"engine/merge/known.go", "if o.Number > l.last()+1 || !k.accepts(l, o) {", "if !k.accepts(l, o) {"},
		}, "engine/merge", "TestHistoryHoldsBackWhatHasGapsOrAbsurdTimes"},
		// Two removals on both sides of a cut leave a resource nowhere.
		{"a removal leaves no site", []edit{
			{"engine/merge/placement.go", "sites = append(sites, o.Place.Add...); len(sites) == 0 {", "sites = append(sites, o.Place.Add...); false {"},
		}, "engine/merge", "TestPlacement"},
		{"a scope is nested without an end", []edit{
			{"engine/scope/parser.go", "if p.depth == MaxNesting {", "if p.depth < 0 {"},
		}, "engine/scope", "TestNestingIsBounded"},
	}
}

// deciding are faults in what a site does next.
func deciding() []mutant {
	return []mutant{
		// A site that has nothing left to delete stays behind for ever.
		{"a delete of nothing is a failure", []edit{
			{"engine/plan/verdict.go", "case t == engine.TypeDelete && r.Gone():", "case false && t == engine.TypeDelete && r.Gone():"},
		}, "engine/plan", "TestJudge"},
		// An action without a certain answer happens twice.
		{"an action is sent again blindly", []edit{
			{"engine/plan/verdict.go", "return k.HonoursKey || n != nil && n.Repeatable", "return k.HonoursKey || n != nil"},
		}, "engine/plan", "TestAnActionIsSettledBeforeWhatWouldHideIt"},
		// Replicas stay different: a late operation is sent as it is, over what came after it.
		{"late operations are run as they are", []edit{
			{"engine/plan/next.go", "!p.h.Division(p.s.Shown().Or(u)).Divides(u) &&\n\t\tsawTheSame(p.h, u, p.s)", "!p.h.Division(p.s.Shown().Or(u)).Divides(u)"},
		}, "engine/plan", "TestEveryInterleaving"},
		// What an application has counted without an answer is taken back by an earlier change, before a person has said whether it has.
		{"an earlier change does not wait for a person", []edit{
			{"engine/plan/next.go", "return is(s.Uncertain, o) && p.counts(o) }); i >= 0 {", "return is(s.Uncertain, o) && p.counts(o) }); i == 0 {"},
		}, "engine/plan", "TestWhatMayHaveRunIsAskedFirst"},
		// What was sent without an answer and counts for nothing stays in one application for good.
		{"what counts for nothing leaves what it has set", []edit{
			{"engine/plan/next.go", "touched := p.s.withoutAnswer(rest[:1])", "touched := p.s.withoutAnswer(nil)"},
		}, "engine/plan", "TestWhatWasSentWithoutAnAnswerLeavesNothing"},
		// An object that its application has lost stays away.
		{"what has vanished is not made anew", []edit{
			{"engine/plan/next.go", "if exists && !p.there && !s.Dropped {", "if false && exists && !p.there && !s.Dropped {"},
		}, "engine/plan", "TestAVanishedObjectIsMadeAnewFromTheFold"},
		// An application that was down once is never asked again.
		{"the breaker never closes", []edit{
			{"engine/service/service.go", "|| now.Before(s.until):", "|| s.state != engine.QueueRunning:"},
		}, "engine/service", "TestService"},
		// A member that asks for much holds up all others.
		{"turns do not go round the sites", []edit{
			{"engine/service/parking.go", "p.round = append(p.round, of)\n\t\t}\n\t\tif ok", "p.round = slices.Insert(p.round, 0, of)\n\t\t}\n\t\tif ok"},
			{"engine/service/parking.go", "import \"github.com/skerry/skerry/engine\"", "import (\n\t\"slices\"\n\n\t\"github.com/skerry/skerry/engine\"\n)"},
		}, "engine/service", "TestService"},
		// The bodies of a member fill a site's disk.
		{"bodies of a member are not counted", []edit{
			{"engine/beside/shares.go", "has > 0 && has+ref.Size > s.most", "false && has+ref.Size > s.most"},
		}, "engine/beside", "TestASiteWaitsForRoomForItsBodies"},
		// An application that asks to be left alone is not.
		{"the time that a service asks for is not heeded", []edit{
			{"engine/service/service.go", "max(s.limits.Probes.After(tries, spread), a.Rest))", "s.limits.Probes.After(tries, spread))"},
		}, "engine/service", "TestService"},
		// A mistake at one site empties all others while nobody looks.
		{"deletions are not held", []edit{
			{"engine/service/deletions.go", "if len(d.ran) >= d.bound {", "if false && len(d.ran) >= d.bound {"},
		}, "engine/service", "TestDeletions"},
	}
}

// doing are faults of a replica and of the loop around it.
func doing() []mutant {
	return []mutant{
		// What a crash interrupts is forgotten, or never settled.
		{"open requests are not settled", []edit{
			{"engine/flight/flights.go", "if one.Stage == Declared {", "if false && one.Stage == Declared {"},
		}, "engine/replica", "TestScripts/crash_action$"},
		// Somebody's data is overwritten by a replica of the same name.
		{"a create overwrites what is there", []edit{
			{"engine/replica/send.go", "looks := o.Type == engine.TypeCreate &&", "looks := false && o.Type == engine.TypeCreate &&"},
		}, "engine/replica", "TestScripts/names$"},
		// A client's request happens twice where its answer was lost.
		{"nobody is asked", []edit{
			{"engine/replica/settle.go", "if t.person || plan.Resendable(r.Kind, o) {", "if true {"},
		}, "engine/replica", "TestScripts/crash_action$"},
		// What a person has had sent again once is sent again after every crash.
		{"a person's word counts for ever", []edit{
			{"engine/replica/settle.go", "if t.person {\n\t\tf.Stage = flight.Unknown", "if false {\n\t\tf.Stage = flight.Unknown"},
		}, "engine/replica", "TestScripts/crash_retry$"},
		// The application refuses what refers to something that is not here yet.
		{"nothing waits for what it refers to", []edit{
			{"engine/view/refers.go", "if o := step.Operations[0]; theirs(o) && o.Type", "if o := step.Operations[0]; false && theirs(o) && o.Type"},
		}, "engine/replica", "TestAnOperationWaitsForWhatItRefersTo"},
		// What an application has destroyed along with its owner is made anew.
		{"what was destroyed along is forgotten with its owner", []edit{
			{"engine/report/row.go", "row.Relations = parts(v)", "row.Relations = nil"},
		}, "engine/report", "TestARowKeepsWhatWasDestroyedAlong"},
		// What belongs to two owners is deleted with the first of them.
		{"what another owner has is destroyed along", []edit{
			{"engine/beside/composition.go", "if err != nil || others {", "if err != nil {"},
		}, "engine/beside", "TestPartsAreDestroyedAlong"},
		{"every site destroys the same", []edit{
			{"engine/beside/composition.go", "if by, _ := r.destroyer(owner, &target, ended); by != r.self {", `if by, _ := r.destroyer(owner, &target, ended); by == "" {`},
		}, "engine/beside", "TestAnotherSiteDestroysAlong"},
	}
}

// living are faults in who belongs to the mesh.
func living() []mutant {
	return []mutant{
		{"strangers say what they are", []edit{
			{"engine/mesh/state.go", "!orders(r.Key.Kind) && !t.admitted[author] && !t.IsAuthority(author):", "false:"},
		}, "engine/mesh", "TestRecordsOfStrangers"},
		// One site that is broken into takes all others out, or another's name.
		{"a member says who is a member", []edit{
			{"engine/mesh/state.go", "case orders(r.Key.Kind) && !t.IsAuthority(author),", "case orders(r.Key.Kind) && !t.admitted[author],"},
		}, "engine/mesh", "TestAMemberHasNoSay"},
		{"a site names itself", []edit{
			{"engine/mesh/member.go", "m.Name, m.Joined, m.Certified = c.Name,", "m.Name, m.Joined, m.Certified = cmp.Or(m.Name, c.Name),"},
		}, "engine/mesh", "TestAMemberHasNoSay"},
		// Whoever finds the key of one that was taken off the list goes on as before.
		{"what a former authority has signed counts on", []edit{
			{"engine/mesh/state.go", "if slices.Equal(lists, t.lists) {\n", "if t.lists, t.authorities = lists, keys; true {\n"},
		}, "engine/mesh", "TestAFormerAuthorityHasNoSay"},
		{"anybody makes authorities", []edit{
			{"engine/mesh/authority.go", "at >= 0 && at < rank &&\n", "at < rank &&\n"},
			{"engine/mesh/authority.go", "len(said.Keys) >= at && slices.Equal(said.Keys[:at], keys[:at]) {", "true {"},
		}, "engine/mesh", "TestAFormerAuthorityHasNoSay"},
		{"one that ranks lower takes off one that ranks higher", []edit{
			{"engine/mesh/authority.go", "len(said.Keys) >= at && slices.Equal(said.Keys[:at], keys[:at]) {", "true {"},
		}, "engine/mesh", "TestRankCounts"},
		{"what is said in one mesh counts in another", []edit{
			{"engine/mesh/state.go", "if orders(r.Key.Kind) && r.Mesh != t.id &&", "if false && r.Mesh != t.id &&"},
		}, "engine/mesh", "TestTakeRefuses"},
		{"a certificate never ends", []edit{
			{"engine/mesh/member.go", "(c.Until == 0 || now.UnixMicro() < c.Until)", "true"},
		}, "engine/mesh", "TestValidity"},
		// Whoever has stolen a site's key goes on with it.
		{"a revoked key is good", []edit{
			{"engine/mesh/member.go", "if !s.IsMember(id) || s.Revoked(id) {", "if !s.IsMember(id) {"},
		}, "testnet/mesh", "TestARevokedSiteIsHeardNoMore"},
		{"a member revokes others", []edit{
			{"engine/mesh/record.go", "return kind == engine.RecordAuthorities || kind == engine.RecordInvitation || shared(kind)",
				"return kind != engine.RecordRevocation && (kind == engine.RecordAuthorities || kind == engine.RecordInvitation || shared(kind))"},
		}, "engine/mesh", "TestAMemberHasNoSay"},
		// Who carries a request to the key has it sign something else than it seems to.
		{"what is signed says more than is shown", []edit{
			{"engine/mesh/signing.go", " || string(engine.Encode(r.said)) != string(r.Body)) {", ") {"},
		}, "engine/mesh", "TestSigningRequest"},
		{"a site's word is signed by an authority", []edit{
			{"engine/mesh/signing.go", "r.said == nil || !orders(r.Key.Kind) ||", "r.said == nil ||"},
		}, "engine/mesh", "TestSigningRequest"},
		{"any key answers for an authority", []edit{
			{"engine/members/authority.go", "verified, err := o.m.verify(records)\n\tif err != nil {", "verified, err := o.m.verify(records)\n\tif verified = records; false {"},
		}, "engine/members", "TestAnAuthorityOffLine"},
		{"an expired certificate keeps the line open", []edit{
			{"engine/members/members.go", "return s.Good(id, now) })", "_ = now; return s.IsMember(id) })"},
		}, "engine/members", "TestAnExpiredSiteIsNotTalkedTo"},
		{"the inviter says who founded the mesh", []edit{
			{"engine/members/hear.go", "case d.ID() != id || d.Founder() != founder:", "case d.ID() != id:"},
		}, "engine/members", "TestAdoptRefuses"},
		// A scope that names a site means another one from one day to the next.
		{"two sites have one name", []edit{
			{"engine/mesh/member.go", "if taken[m.Name] {", "if false && taken[m.Name] {"},
		}, "engine/mesh", "TestTheFirstKeepsAName"},
		{"any secret opens the mesh", []edit{
			{"engine/mesh/invitation.go", "subtle.ConstantTimeCompare(hash[:], i.Secret[:]) != 1 {", "false && subtle.ConstantTimeCompare(hash[:], i.Secret[:]) != 1 {"},
		}, "engine/mesh", "TestAdmit"},
		{"who was removed comes back", []edit{
			{"engine/mesh/invitation.go", "if _, removed := a.removed[r.Site]; removed {", "if _, removed := a.removed[r.Site]; false && removed {"},
		}, "engine/mesh", "TestRemoval"},
		// An invitation that was revoked is good once more.
		{"older records come back", []edit{
			{"engine/mesh/state.go", "if old != nil && r.newer(old) <= 0 {", "if false && old != nil && r.newer(old) <= 0 {"},
		}, "engine/mesh", "TestUsesAreNotForgotten"},
		// Two agents with one key write over each other.
		{"a copied data directory is not found out", []edit{
			{"engine/mesh/run.go", `say.Run != "" && slices.Contains(other.Heard, say.Run)`, "false"},
		}, "engine/mesh", "TestMeet"},
	}
}

// looping are faults in the loop that all of it runs in.
func looping() []mutant {
	return []mutant{
		// Other sites have what its own site has lost.
		{"published before it is on disk", []edit{
			{"engine/site/wakeup.go", "\tif !w.empty() {\n", "\tw.send()\n\tif !w.empty() {\n"},
			{"engine/site/letters.go", "w.then(func() {\n\t\tfor _, e := range order {\n\t\t\ts.network.Send(e.to, e.letter)\n\t\t}\n\t})", "for _, e := range order {\n\t\ts.network.Send(e.to, e.letter)\n\t}"},
		}, "engine/site", "TestInvariantPublishedOnceItIsDurable"},
		{"what could not be made durable counts", []edit{
			{"engine/site/wakeup.go", "\t\tw.forget(r, refusal)\n", "\t\t_ = refusal\n"},
		}, "engine/site", "TestInvariantPublishedOnceItIsDurable"},
		{"each replica has a commit of its own", []edit{
			{"engine/site/wakeup.go", "\tw.stepOf(r, in)\n\treturn nil\n", "\tw.stepOf(r, in)\n\t_ = w.s.cfg.Store.Commit(w.ctx, &engine.Batch{})\n\treturn nil\n"},
		}, "engine/site", "TestOneCommitAWakeUp"},
		// A site that has no part in a resource reads it.
		{"letters go to whoever can be reached", []edit{
			{"engine/site/letters.go", "to := w.reachable(r.Others())", "to := w.reachable(append(r.Others(), \"lille\"))"},
		}, "engine/site", "TestInvariantOnlyTheSitesInvolved"},
		{"whoever asks gets what is here", []edit{
			{"engine/site/exchange.go", "return r.stored && r.Part(with) != view.PartNone", "return r.stored"},
		}, "engine/site", "TestInvariantOnlyTheSitesInvolved"},
		{"a client waits for what a defect has ended", []edit{
			{"engine/site/wakeup.go", "\t\t\t\tr.tellAll(k, out, why+\"; it is set aside until somebody resumes it\")\n", ""},
		}, "engine/site", "TestAPanicSetsTheResourceAside"},
		// Equal sites compare for ever.
		{"what is shared no more is compared still", []edit{
			{"engine/site/prints.go", "of.prints[at].Sub(e)", "_ = e"},
		}, "engine/site", "TestPrints"},
	}
}

package mutants

// mutant is one planted fault.
type mutant struct {
	name string
	// edits say what to put in place of what; what is replaced stands in the file exactly once.
	edits []edit
	// finder is the test that has to fail, in the package of its folder.
	folder, finder string
}

type edit struct{ file, old, now string }

// script is the test of one script of testnet/script.
func script(name string) (folder, finder string) {
	return "testnet/script", "TestScripts/" + name + "$"
}

// planted are the mutants. A comment says what would be wrong for users.
func planted() []mutant {
	var all []mutant
	add := func(name string, folder, finder string, edits ...edit) {
		all = append(all, mutant{name, edits, folder, finder})
	}
	scripted := func(name, in string, edits ...edit) {
		folder, finder := script(in)
		add(name, folder, finder, edits...)
	}

	// What gossip loses never arrives.
	add("anti-entropy is off", "p2p", "TestLostGossipIsRepaired",
		edit{"p2p/repair.go", "if compare && err == nil {", "if false && compare && err == nil {"})
	// Acknowledged operations are gone after a power failure.
	add("the disk is not synced", "testnet/powerloss", "TestPowerLoss",
		edit{"storage/store.go", "&_synchronous=FULL", "&_synchronous=OFF"},
		edit{"storage/store.go", `"synchronous": "2"`, `"synchronous": "0"`})
	// Two sides of a cut make two documents of one name, and each shows its own for ever.
	scripted("the first change is each site's own", "same-name-on-both-sides",
		edit{"engine/create.go", `Collaboration: Replication, Placement: placement}`,
			`Collaboration: Replication, Placement: placement, Incarnation: uint64(s.cfg.Self[len(s.cfg.Self)-1])}`})
	// Values that somebody has replaced on purpose are listed as lost.
	add("causal pairs are taken for concurrent ones", "engine", "TestALaterValueSupersedesAndTheLostOneIsKept",
		edit{"engine/fold.go", "if h.Concurrent(old.by, by.by) {", "if true {"})
	// What somebody has done on purpose after something else undoes that, by a rule for what is done at the same time.
	scripted("a rule is applied to what has seen the other", "one-of-what-was-seen",
		edit{"engine/living.go", "if h.Before(o, w) { // and", "if false { // and"},
		edit{"engine/living.go", "case !refused && !one && !sameBytes, h.Before(o, w):", "case !refused && !one && !sameBytes:"})
	// A deleted resource takes as much of the disk as a living one, for good.
	scripted("a deleted resource keeps what it was", "deleted-for-good",
		edit{"engine/epoch.go", "current.bytes >= endedBytes*most*len(v.members()) && !v.exists()", "false"})
	// A site that was restored from a backup with its application keeps objects that were deleted long ago.
	scripted("a restored object outlives the epoch of its deletion", "deleted-for-good",
		edit{"engine/restored.go", `known != nil && known.local() != "" && mine.Local == ""`, `known != nil && known.local() == "" && mine.Local == ""`})
	// A resource whose fields come and go grows until it cannot be written any more.
	add("removed fields are kept for good", "engine", "TestACheckpointIsBounded",
		edit{"engine/reduce.go", "removed[:max(0, len(removed)-maxRemoved)]", "removed[:0]"})
	// A site corrects its application to values that nobody has set together.
	add("a fold goes on from any other", "engine", "TestAFoldFromAnEarlierOneIsTheSame",
		edit{"engine/folded.go", " && slices.Equal(b.ops, counting[:len(b.ops)])", ""})
	// What a crash interrupts is forgotten, though the application has done it.
	scripted("no intent is written", "crash-action-before-answer",
		edit{"engine/crossing.go", "if err := s.declare(ctx, c); err != nil {", "if err := error(nil); err != nil {"})
	// The same, by another way: the intent is there, and nobody looks.
	scripted("open intents are not settled", "crash-create-before-answer",
		edit{"engine/site.go", "s.queue.add(job{intent: i.Operation}, 0)", ""})
	// Others have an operation that its origin has lost.
	scripted("a change is published before it is on disk", "crash-idempotent-before-commit",
		edit{"engine/record.go", "\tif err := s.store(ctx, r, b); err != nil {\n\t\treturn err\n\t}\n\ts.network.Publish(",
			"\tdefer s.store(ctx, r, b)\n\ts.network.Publish("})
	// A member writes in another's name.
	add("the gate lets foreign keys through", "crdt", "TestGate",
		edit{"crdt/gate.go", "if !ok || rest != \"\" && rest[0] != '/' {", "if false && (!ok || rest != \"\" && rest[0] != '/') {"})
	// A relay forges what it passes on.
	add("signatures are not checked", "crdt", "TestGate",
		edit{"crdt/author.go", "if ok, err := key.Verify(signed(h), c.Signature); err != nil || !ok {",
			"if ok, err := key.Verify(signed(h), c.Signature); false && (err != nil || !ok) {"})
	// What one side of a cut has made is deleted by a delete that never saw it.
	add("a delete ends creates that it has not seen", "engine", "TestADeleteNeverDiscardsACreateItDidNotSee",
		edit{"engine/living.go", "func(d *Operation) bool { return h.discards(d, o) })", "func(d *Operation) bool { return d != nil })"})
	// Sites outside of a placement learn what is in it.
	add("documents are given to any member", "testnet/mesh", "TestInvariantOnlyTheSitesInvolved",
		edit{"engine/receive.go", "if !s.IsMember(with) || !row.Mesh && !belongs", "if !s.IsMember(with) || false && !row.Mesh && !belongs"})
	// An application that would not repeat a request does.
	add("the idempotency key is not sent", "testnet/mesh", "TestInvariantNoEffectTwice",
		edit{"engine/call.go", "Key: key, Credentials: credentials,", "Credentials: credentials,"})
	// A resource says that all is well while nobody knows whether a client's request has run.
	scripted("a resource is not told what is uncertain", "crash-action-before-answer",
		edit{"engine/openrequest.go", "if open != nil {", "if false {"})
	// The other sites of the resource cannot tell.
	scripted("other sites are not told what is uncertain", "uncertain-at-its-origin",
		edit{"engine/openrequest.go", "if !differs {", "if true {"})
	// They ask a person what to do about what such a request has changed.
	scripted("what an open request has changed is taken for drift", "uncertain-at-its-origin",
		edit{"engine/agreement.go", "return v.replica(s).Open != nil })", "return false })"})
	// What an application has counted without an answer is taken back by an earlier change, before a person has said whether it has.
	scripted("an earlier change does not wait for a person", "uncertain-holds-up-what-comes-before",
		edit{"engine/next.go", "s.Uncertain != nil && s.Uncertain(o) && counts(o)", "s.Uncertain != nil && s.Uncertain(o) && !counts(o)"})
	// An action without a certain answer happens twice.
	scripted("an action is sent again blindly", "unsure-then-asked",
		edit{"engine/outcome.go", "return k.HonoursKey || n != nil && n.Repeatable", "return k.HonoursKey || n != nil"})
	// Replicas stay different: a late operation is sent as it is, over what came after it.
	add("late operations are run as they are", "engine", "TestEveryInterleaving",
		edit{"engine/next.go", " && h.sawTheSame(u, s):", ":"})
	// A part of a cross resource keeps a share that it has refused once, however often the same is asked for again.
	scripted("what was refused is taken to be there", "cross-refused-share",
		edit{"engine/next.go", "difference := s.difference(before, after).and(after.restoring(", "difference := before.Difference(after).and(after.restoring("})
	// What was made anew without an answer is left over when the resource is deleted meanwhile.
	scripted("what was to be made anew is forgotten", "deleted-while-made-anew",
		edit{"engine/actuate.go", "if !unfinished {", "if unfinished = false; !unfinished {"},
		edit{"engine/next.go", "(!s.Settled(o) || !counts(o) && among(h.Living(s.shows))(o))", "!s.Settled(o)"})
	// Somebody's data is overwritten by a replica of the same name.
	scripted("a create overwrites what is there", "object-of-somebody-else",
		edit{"engine/run.go", "looks := o.Type == TypeCreate &&", "looks := false && o.Type == TypeCreate &&"})
	// A request is done at two sites, because the one that it was handed to is forgotten with the agent.
	scripted("who was asked for a kept request is not on disk", "kept-and-dies",
		edit{"engine/outbox.go", "if err := s.redirect(ctx, e, row, to); err != nil {", "if e.Sent = to; err != nil {"})
	// What a person has had sent again once is sent again after every crash.
	scripted("a person's word counts for ever", "crash-of-a-persons-retry",
		edit{"engine/settle.go", "if person && !resendable(k, o) {\n\t\tc.Again, c.Asked = false, false\n", "if false {\n"})
	// What the service has added already counts as never sent once it could not be reached, and is overwritten.
	scripted("nobody answers, so nothing was done", "counted-without-an-answer-then-down",
		edit{"engine/run.go", "if !maybe {\n\t\t\ts.certain", "if !maybe || k.HonoursKey {\n\t\t\ts.certain"})
	// What was done stays at one site alone, and is listed as refused.
	scripted("who is not let in has never been", "denied-when-sent-again",
		edit{"engine/settle.go", "certain = became != verdictDenied", "certain = true"})
	// An application that was down once is never asked again.
	scripted("the breaker never closes", "application-down",
		edit{"engine/breaker.go", "case b.probe != \"\" || now.Before(b.until):", "case true:"})
	// What waits for another site, while its service fails, keeps a processor busy.
	add("what waits for something else is parked", "engine", "TestWhatWaitsForSomethingElseIsNotParked",
		edit{"engine/gate.go", `case g.breaker.probe == "" && !s.cfg.Now().Before(g.breaker.until):`, "case false:"})
	// A delete that was interrupted is never settled, and what it has deleted comes back at no site or at all.
	add("what an open delete has taken away has vanished", "testnet/mesh", "TestWhatADeleteHasTakenAwayHasNotVanished",
		edit{"engine/repair.go", "if err := s.settleEarlier(ctx, r); errors.As(err, &waits) {\n\t\treturn nil // the next look tells",
			"if err := error(nil); errors.As(err, &waits) {\n\t\treturn nil"})
	// One name is two resources, and when one is deleted the other takes its place.
	add("what is being made is adopted", "testnet/mesh", "TestWhatIsBeingMadeIsNotAdopted",
		edit{"engine/adoption.go", "if k.Natural() { // whoever", "if false { // whoever"})
	// A replica changes while somebody works on it.
	scripted("a pause holds nothing", "paused",
		edit{"engine/actuate.go", "if v.replicas[s.cfg.Self].Paused != nil || ", "if "})
	// A site that is lost for good holds up all others.
	scripted("a site that was removed is waited for without an end", "removed-and-silent",
		edit{"engine/part.go", "return slices.DeleteFunc(v.with(partMember, partLeaving), v.overdue)", "return v.with(partMember, partLeaving)"})
	// What was asked for first overwrites what came later.
	scripted("nothing waits behind what is kept", "kept-in-order",
		edit{"engine/waitingline.go", "if len(s.lines.before(key, r.Operation)) == 0 {", "if true {"})
	// A site that was set back does again what it has forgotten to have done.
	scripted("nothing waits to be compared", "restored-with-an-open-request",
		edit{"engine/compared.go", "waits := !s.compared.over && ", "waits := false && "})
	// A site that comes back empties itself because somebody emptied another one.
	scripted("deletions are not held", "held-deletions",
		edit{"engine/deletions.go", "func (h *Held) waits() bool { return h != nil && h.Confirmed == \"\" }", "func (h *Held) waits() bool { return false && h != nil }"},
		edit{"engine/deletions.go", "\tif len(d.held) > 0 {\n\t\treturn false, nil\n\t}\n", "\tif len(d.held) >= 0 {\n\t\treturn true, nil\n\t}\n"})
	// What a site that is cut off has changed is gone: the others have dropped what it comes after.
	scripted("a checkpoint waits for this site only", "epoch-waits-for-all",
		edit{"engine/compact.go", "func (v *view) members() []SiteID { return v.correspondents() }", "func (v *view) members() []SiteID { return []SiteID{v.self} }"})
	// What a site that is cut off has accepted is in a document that nobody else looks at any more.
	scripted("an epoch is dropped before all have acknowledged the next", "epoch-waits-for-all",
		edit{"engine/epoch.go", "if !v.writesIn(m, current) || !v.replicas[m].Whole {", "if m == v.self && !v.writesIn(m, current) {"})
	// What a site had accepted that was away for long is held back by all others for ever.
	scripted("what comes back after epochs has not seen the checkpoint", "removed-overdue-and-set-back-epochs",
		edit{"engine/record.go", "if base := v.history.base; base != nil {", "if base := v.history.base; false && base != nil {"},
		edit{"engine/record.go", "o.sees(p.Seen)", "_ = p.Seen"}, edit{"engine/replica.go", "return r.Behind", "return nil"})
	scripted("what is issued on a checkpoint has not seen all of it", "removed-overdue-and-set-back-epochs",
		edit{"engine/record.go", "if base := v.history.base; base != nil {", "if base := v.history.base; false && base != nil {"})
	// A site that was added again waits for good for what others wrote while it did not belong to them.
	scripted("what nobody has any more is waited for", "added-again-to-what-has-ended",
		edit{"engine/record.go", "if err == nil && (e != v.current() || !v.orphaned()) {", "if err == nil {"})
	// What a site that was set back has accepted before it heard the others is held back by them for ever.
	scripted("what was issued before it was heard has not seen the checkpoint", "written-before-it-was-heard",
		edit{"engine/hindsight.go", "later = !h.follows(w) ||", "later = false &&"})
	scripted("what was issued before it was heard has not seen a checkpoint of others", "written-before-it-was-heard-with-all",
		edit{"engine/hindsight.go", "if elsewhere && o.Origin", "if false && elsewhere && o.Origin"})
	scripted("one lost run has not seen what another had settled", "restored-twice-beside-what-it-had-settled",
		edit{"engine/hindsight.go", "beside = beside || !first.saw(other, a.Seen[other])", ""})
	scripted("one lost run has not seen what another had settled in the same epoch", "restored-twice-and-alone-in-an-epoch",
		edit{"engine/hindsight.go", "beside || !first.saw(other, a.Seen[other])", "beside || other.epoch() < number && !first.saw(other, a.Seen[other])"})
	scripted("one lost run has not seen what another had issued", "restored-twice-beside-itself",
		edit{"engine/hindsight.go", "if beside && was.Upto == 0 {", "if false && beside && was.Upto == 0 {"})
	scripted("what has seen what counts in hindsight counts as it says", "restored-twice-on-top-of-itself",
		edit{"engine/hindsight.go", "|| later.Seen[name] > a.After }", "}"})
	scripted("a delete that was taken away stays so", "deleted-on-top-of-what-was-restored",
		edit{"engine/next.go", "return s.Void(o) && !h.base.has(o) &&", "return false && s.Void(o) && !h.base.has(o) &&"})
	add("all of a lost run counts as having seen another", "engine", "TestHindsightOfTwoLostRuns",
		edit{"engine/hindsight.go", "After: first.Seq - 1, ", ""})
	// What a site that was set back has issued waits for good where it comes late, or what it has issued since does elsewhere.
	add("what comes before a checkpoint in order is not outside", "engine", "TestOutsideByTime",
		edit{"engine/history.go", "w != nil && !h.follows(w) {", "w != nil && !h.follows(w) && w.Time >= h.base.Time {"})
	add("what waited comes before what was issued since", "engine", "TestHindsightOfWhatWaits",
		edit{"engine/hindsight.go", "a.Seen, a.Time = join(a.Seen, settled), max(a.Time, until)", "_, _ = settled, until"})
	// What a lost run did after a request that its site does once more is held back for good.
	scripted("two runs have one key for a request", "restored-and-asked-again",
		edit{"engine/operation.go", `string(o.ID) + "/" + o.Run }`, `string(o.ID) }`})
	// Two sites show different things for good after one of them was set back: what nobody knows comes back in a whole representation.
	scripted("what counts in hindsight is sent as it was", "restored-and-replaced-between",
		edit{"engine/next.go", "if u.hindsight || u", "if u"})
	scripted("a create is sent as it was where there is an object", "restored-and-made-before-what-it-had-made",
		edit{"engine/next.go", "u.hindsight || u.Type == TypeCreate", "u.hindsight"})
	scripted("what two may have made that have ended is left", "two-of-one-name-that-ended-unanswered",
		edit{"engine/owner.go", "if !other.there() || ended", "if !other.there() || false && ended"})
	scripted("what may have run on an object that is gone keeps it from being made", "deleted-and-made-anew-while-an-action-is-open",
		edit{"engine/owner.go", "(!c.Received || c.Operation.Type == TypeCreate)", "true"})
	scripted("an operation has not seen what its own earlier one had", "restored-and-issued-before-a-delete-is-sent-again",
		edit{"engine/record.go", "o.sees(p.Seen)", "_ = p.Seen"},
		edit{"engine/replica.go", "return r.Behind", "return nil"})
	scripted("what a site shows beside what is kept stays", "kept-over-what-is-beside",
		edit{"engine/correct.go", "strays(k, shown.Body, step.Only)", "nil"})
	scripted("what a whole PUT had taken away stays after a backup", "restored-under-whole-puts",
		edit{"engine/recheck.go", "touched := v.history.touching(sent, settled)", "touched := sent"})
	// What had run on an object runs once more, though the object had never gone.
	scripted("to be compared with who has nothing is enough", "restored-and-compared-with-who-has-nothing",
		edit{"engine/receive.go", "s.hasMore(from)", "_ = s.hasMore"})
	scripted("an object that is another's is deleted and made anew", "restored-and-handed-over",
		edit{"engine/recheck.go", "s.handedOver(ctx, r, kind, lost, gap[0])", "false, error(nil)"})
	// What a lost run had added to a number is gone, and counts as added.
	scripted("what no correction can have left is restored", "restored-before-a-count-of-another-site",
		edit{"engine/next.go", "return !o.folds() && !slices.Contains(taken, o)", "return false"})
	scripted("under rules numbers are restored that were only added to", "restored-before-a-count-that-comes-back-later",
		edit{"engine/unsure.go", "|| had(o) != has(o))", "|| true || had(o) != has(o))"})
	scripted("what has run keeps what follows from being found to have run", "restored-before-counts-and-another-action",
		edit{"engine/unsure.go", " && (s.Ran == nil || !s.Ran(p))", ""})
	// Two sites hold other bytes, and both say that they are the same.
	scripted("what is issued again is there already", "restored-and-issued-again-after-what-came-later",
		edit{"engine/late.go", "if !shown.has(o) {", "if false && !shown.has(o) {"})
	// What a site that was set back has made stays for good where its lost run had passed it over.
	scripted("what a lost run has passed over counts as passed over", "restored-and-passed-over",
		edit{"engine/restored.go", "case !told && (is.State == StateSuperseded || is.Blocks):", "case false && !told && is.State == StateSuperseded:"})
	// A number that a rule takes away comes back at a site that was set back.
	scripted("what a lost run had taken from a number is there again", "restored-before-a-count-was-taken-away",
		edit{"engine/unsure.go", "|| had(o) != has(o))", "|| false && had(o) != has(o))"})
	// A list that was one value in between keeps at a site that was set back with its application what that has taken away.
	scripted("what lay in a list before is left there after a backup", "restored-under-a-list",
		edit{"engine/recheck.go", "fold.restoring(touched, before)", "fold.restoring(touched, fold)"}, edit{"engine/recheck.go", "done, before := among(gap), v.history", "done, _ := among(gap), v.history"})
	// An action that a person has had sent again is pending for ever, and takes the place of later ones.
	scripted("a late action is sent again and not set right", "restored-and-started-again",
		edit{"engine/run.go", "again := v.replica(s.cfg.Self).settles()(o)", "again := v.settled(s.cfg.Self, o)"})
	// Nobody sees a request that waits to be settled after a crash.
	scripted("what an earlier process has left open is not listed", "listed-without-an-answer",
		edit{"engine/site.go", "\t\t\ts.listLeft(ctx, i, &c)\n", ""})
	// A site that was set back twice keeps what its first lost run had deleted.
	scripted("what one of two lost runs had deleted counts as deleted", "restored-twice",
		edit{"engine/recheck.go", "case over && slices.ContainsFunc(", "case false && over && slices.ContainsFunc("})
	scripted("what is deleted in a checkpoint alone is kept after a backup", "restored-while-a-deletion-ended",
		edit{"engine/recheck.go", "lost == \"\") && cmp.Or(mine.Local, lost) != \"\"", "lost == \"\") && mine.Local == \"\" && lost != \"\""})
	// Two sites refuse what the other shows for good once one was set back to before it left.
	scripted("a site writes after the last word of its lost run", "left-and-set-back",
		edit{"engine/restored.go", "if former && len(values) < 2 {", "if false {"})
	// What a site had accepted before it heard its lost run's last word is lost: it has left.
	scripted("the last word of a lost run stands above what was written since", "left-set-back-and-written-since",
		edit{"engine/restored.go", "if former && len(values) < 2 {", "if former {"})
	// What a site had made without recording it stays for good where its lost run had deleted it.
	scripted("nothing is there of what was made without an answer", "restored-to-a-create",
		edit{"engine/recheck.go", "slices.ContainsFunc(gap, standing.doubtful)", "false && slices.ContainsFunc(gap, standing.doubtful)"})
	// A resource waits for good for a person who is asked about a request that everybody knows to have run.
	scripted("who is asked about a lost run's request is asked for good", "restored-and-asked-too-early",
		edit{"engine/restored.go", "\treturn true, s.endTold(ctx, c, &Batch{Settled: []OperationID{c.Operation.ID}})", "\tc.Asked = true\n\treturn true, nil"})
	// What a client's request had made that a backup does not know the answer of stays for good where the lost run had deleted it.
	scripted("a request that a lost run has published has made nothing", "restored-to-a-request",
		edit{"engine/recheck.go", "cmp.Or(lost, mine.Local) != \"\"); err", "cmp.Or(lost, mine.Local, \"-\") != \"\"); err"})
	// A count that was removed goes back to zero where something had been counted, and stays away where nothing had.
	scripted("what has counted for nothing tells where a removed count began", "removed-and-counted-for-nothing",
		edit{"engine/counter.go", "if idle && set && cell.Value == nil {", "if false && idle {"})
	// An object that a restored site has made anew stays for good: the service has deleted the one before under the same key.
	scripted("a client's request has one key for an object and those made anew", "restored-and-deleted-again",
		edit{"engine/make.go", "return key + madeAnew(v.replicas[s.cfg.Self].Made) + ", "return key + "})
	// An action counts as done at a site that does not show it, nor ever will.
	scripted("what a deletion has ended counts as done after a backup", "restored-after-all",
		edit{"engine/recheck.go", "case !shows && !lives(o):", "case false && !shows && !lives(o):"})
	// The next resource of a name is taken for what a lost run had changed: a deleted resource has it, and a change overwrites it.
	scripted("a restored name is its first resource's for good", "restored-and-named-again",
		edit{"engine/ours.go", "known := v.local() == local\n", "known := v.local() == local || k.Natural()\n"})
	// A site that was restored makes a second object where a lost operation has changed the first, or leaves it behind when it is deleted.
	scripted("what was changed since a backup is made once more", "restored-and-changed-since",
		edit{"engine/recheck.go", "&& !ours && !taken", "&& !ours && taken"})
	scripted("a marker that a client has taken away says that an object is another's", "restored-and-its-marker-gone",
		edit{"engine/ours.go", "s.marks(k, o) && k.isMarked(shown.Body)", "s.marks(k, o)"})
	scripted("what is settled is folded away before a fact of the epoch before is known", "fact-of-the-epoch-before",
		edit{"engine/compact.go", "if v.lacks(site) {", "if v.part(site) == partFormer && v.lacks(site) {"})
	scripted("what a lost run had made is of no interest beside a replica", "restored-beside-what-it-had-made",
		edit{"engine/recheck.go", "lost != mine.Local {", "false {"})
	scripted("what a lost run had made is of no interest once the resource is deleted", "restored-beside-what-it-had-made-and-deleted",
		edit{"engine/recheck.go", "lost != mine.Local {", "lost != mine.Local && !over {"})
	scripted("of what several lost runs had made one alone is known", "restored-twice-beside-each-other",
		edit{"engine/restored.go", "if len(had) > 1 {", "if false {"})
	scripted("what counts as settled with a fold has made nothing", "restored-before-its-create-was-folded",
		edit{"engine/next.go", "(!s.Settled(o) || s.Gone)", "!s.Settled(o)"})
	scripted("a request without an answer is another one once a lost run has made the object", "restored-while-it-was-made",
		edit{"engine/make.go", `c.Operation.ID == o.ID && c.Key != ""`, "false"})
	scripted("what a backup knows no request of was not made", "restored-before-its-create",
		edit{"engine/run.go", "!sent && s.mayHaveMarked(r, k, o)", "false"})
	scripted("a patch without an answer outlives its object", "vanished-with-an-open-patch",
		edit{"engine/repair.go", "done && sent && o.Type == TypePatch", "false && sent && o.Type == TypePatch"})
	scripted("a delete passes over what a person has adopted", "restored-and-changed-since",
		edit{"engine/actuate.go", `v.outcomes[v.self][o.ID].Adopt != ""`, "false"})
	scripted("nobody is asked about a create that was deleted meanwhile", "restored-and-changed-since",
		edit{"engine/conflict.go", "case o.Type == TypeCreate && out.State == StateUncertain:", "case false:"})
	// A site that was restored makes a second part of what is divided, or sets all of a count at its own.
	scripted("a restored part is told from others by its count", "restored-share",
		edit{"engine/ours.go", "isContainer(value) || slices.Contains(divided, at)", "isContainer(value)"})
	scripted("a restored part is set to the whole", "restored-share",
		edit{"engine/recheck.go", "v.history.fold(pick{in: settled})", "foldOf(v.history, pick{in: settled})"})
	// What a site had issued in one epoch before it was set back builds on what it had issued in the one before, and waits for that for good.
	scripted("what a lost run had done before is waited for", "restored-between-two-epochs",
		edit{"engine/hindsight.go", "name.epoch() < over && last < n {", "name.epoch() < over && last > n {"})
	// Numbers of a create that was deleted are added to those of one that lives.
	add("a late delete is folded around", "engine", "TestALateDeleteOfOneOfTwoCreates",
		edit{"engine/cut.go", "if deletes && len(creates) > 1 || ", "if deletes && len(creates) > 100 || "})
	// A site that was taken out of a placement goes on reading what comes after.
	add("a removed site is still served", "testnet/mesh", "TestInvariantOnlyTheSitesInvolvedAfterARemoval",
		edit{"engine/receive.go", "if !former || c.Seq <= until[c.Actor] || c.Author == with {", "if !former || c.Seq <= until[c.Actor] || c.Seq > 0 {"})
	// A site that has nothing left to delete stays behind for ever.
	add("a delete of nothing is a failure", "engine", "TestJudge",
		edit{"engine/outcome.go", "case t == TypeDelete && (r.Status", "case false && t == TypeDelete && (r.Status"})

	// A site that was added again and one that has left meanwhile compare a document again and again.
	scripted("who has come back shows nothing to who has left", "back-between-who-has-left",
		edit{"engine/part.go", "ok && !v.shownAll(site) {", "ok && false && !v.shownAll(site) {"})
	return all
}

package mutants

// ofAuthorities are faults in who is let in, and in what becomes of who is out.
func ofAuthorities() []mutant {
	return []mutant{
		// Any member says what only authorities may say, with its own agent.
		{"whoever is no authority certifies", []edit{
			{"engine/mesh/authority.go", "case a.mayOrder() != nil:", "case false:"},
		}, "engine/mesh", "TestAuthorities"},
		{"whoever is no authority takes a site out", []edit{
			{"engine/mesh/say.go", "if err := a.mayOrder(); err != nil {", "if err := a.mayOrder(); false {"},
		}, "engine/mesh", "TestRevocation"},
		// Whoever carries a record to others makes it say something else.
		{"records of the mesh are forged", []edit{
			{"engine/members/hear.go", "mesh.Message(r.Record), r.Signature); err != nil {", "mesh.Message(r.Record), r.Signature); false && err != nil {"},
		}, "engine/members", "TestRefusedRecordsChangeNothing"},
		{"a site that was taken out is certified again", []edit{
			{"engine/mesh/authority.go", "if _, removed := a.removed[site]; removed {", "if _, removed := a.removed[site]; false && removed {"},
		}, "engine/mesh", "TestRevocation"},
		{"a certificate ends before it begins", []edit{
			{"engine/mesh/authority.go", "case c.Until != 0 && (c.Until <= c.From || c.Until > maxTime):", "case false:"},
		}, "engine/mesh", "TestValidity"},
		// An authority of which somebody has the key fills all sites' memory with certificates and zones.
		{"an authority lets in sites without an end", []edit{
			{"engine/mesh/authority.go", "case !a.admitted[site] && len(a.admitted) >= MaxMembers:", "case false:"},
		}, "engine/mesh", "TestAMeshIsFull"},
		{"a mesh takes in sites without an end", []edit{
			{"engine/mesh/state.go", "case kind == engine.RecordCertificate && !t.admitted[engine.SiteID(r.Key.About)] && len(t.admitted) >= MaxMembers:", "case false:"},
		}, "engine/mesh", "TestAMeshIsFull"},
		{"a mesh has zones without an end", []edit{
			{"engine/mesh/state.go", "case kind == engine.RecordZone && count(t.shared, func(r *record) bool { return r.Key.Kind == kind }) >= MaxZones:", "case false:"},
		}, "engine/mesh", "TestSetZoneRefuses"},
		{"a member says what is unknown without an end", []edit{
			{"engine/mesh/state.go", "case r.said == nil && count(mine, func(r *record) bool { return r.said == nil }) >= maxOthers:", "case false:"},
		}, "engine/mesh", "TestUnknownKindsAreKept"},
		// Nobody is left who may let anybody in.
		{"a site whose key is an authority is taken out", []edit{
			{"engine/mesh/say.go", "if a.IsAuthority(id) {", "if false && a.IsAuthority(id) {"},
		}, "engine/mesh", "TestRemoval"},
		{"the last site is taken out", []edit{
			{"engine/mesh/say.go", "return m.ID != id && m.Removed.IsZero() }) {", "return m.ID != id || m.Removed.IsZero() }) {"},
		}, "engine/mesh", "TestRemoval"},
		// A token that was passed on lets in whoever finds it later.
		{"an invitation lets in without an end", []edit{
			{"engine/mesh/invitation.go", "if !usable(i, now) {", "if false && !usable(i, now) {"},
		}, "engine/mesh", "TestAdmit"},
		{"an invitation is never used up", []edit{
			{"engine/mesh/invitation.go", "\ti.Uses--\n", ""},
		}, "engine/mesh", "TestAdmit"},
		{"of a retirement and a revocation the later one counts", []edit{
			{"engine/mesh/state.go", "earliest = min(earliest, r.said.(engine.Removal).At)", "earliest = r.said.(engine.Removal).At"},
		}, "engine/mesh", "TestRevocation"},
		// Whoever has stolen a key goes on with what only members may say.
		{"records are taken from whoever is no member", []edit{
			{"engine/members/hear.go", "if !m.IsMember(from) {", "if false && !m.IsMember(from) {"},
		}, "engine/members", "TestARevokedSiteIsNotTalkedTo"},
		{"letters are taken from whoever is no member", []edit{
			{"engine/site/receive.go", "if !s.cfg.Members.IsMember(from) {", "if false && !s.cfg.Members.IsMember(from) {"},
		}, "engine/site", "TestNothingIsTakenFromWhoIsNoMember"},
		{"what whoever is no member says of itself counts", []edit{
			{"engine/site/receive.go", "if !s.cfg.Members.IsMember(b.Site) {", "if false && !s.cfg.Members.IsMember(b.Site) {"},
		}, "engine/site", "TestNothingIsTakenFromWhoIsNoMember"},
		{"a revoked site is waited for", []edit{
			{"engine/members/removal.go", "case record.Gone, silent, d.State.Revoked(id):", "case record.Gone, silent:"},
		}, "engine/members", "TestARevokedSiteIsNotTalkedTo"},
		// Strangers take the places of those who are asked to join.
		{"strangers stay", []edit{
			{"p2p/members.go", "&& time.Since(guests[c.ID()]) <= guestTime &&", "&&"},
		}, "p2p", "TestGuestIsShownOut"},
		{"a relay is for everybody", []edit{
			{"p2p/relay.go", "multiaddr.Multiaddr) bool { return m.g.member(p) }", "multiaddr.Multiaddr) bool { return m.g.member(p) || true }"},
		}, "p2p", "TestARelayIsForMembers"},
		{"any part of a body is asked for", []edit{
			{"p2p/blob.go", "if r.First < 0 || r.First >= r.Blob.Chunks() {", "if r.First < 0 {"},
		}, "p2p", "TestWrongBlobRequests"},
		// What a member replays brings back what has been deleted since.
		{"older statuses come back", []edit{
			{"engine/view/take.go", "\tif !news {\n\t\treturn false, nil", "\tif false && !news {\n\t\treturn false, nil"},
		}, "engine/site", "TestOldLettersAfterAStart"},
		{"what is known is taken in again", []edit{
			{"engine/view/take.go", "case c.Number <= tip.Number ||", "case c.Number == 0 && tip.Number == 0 ||"},
			{"engine/view/take.go", "case !v.Writes(c.Author()) || !tip.Follows(c):", "case !v.Writes(c.Author()):"},
		}, "engine/site", "TestOldLettersAfterAStart"},
	}
}

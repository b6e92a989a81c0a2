package engine

import "testing"

// TestWhoHasLeftListensToTheLastWordOfEachEpoch has a site, which has left, hear of another one that wrote in two epochs before it
// left. Both show each other the same of each of the documents only when it takes in what that site wrote last in each, also where
// its very last word comes before the rest of the document of the earlier epoch.
func TestWhoHasLeftListensToTheLastWordOfEachEpoch(t *testing.T) {
	v := newView("c", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b", "c"}}, nil, lab)
	v.placed = &Placement{Sites: []SiteID{"a"}}
	v.replicas["c"] = Replica{Left: &Left{Sites: []SiteID{"a"}}, epoch: 1}
	lastWord, more := Envelope{Left: true}, Envelope{}
	check := func(when string, from SiteID, e Envelope, number uint64, want bool) {
		t.Helper()
		if got := v.listens(from, e, number); got != want {
			t.Errorf("%s it listens to what %s sends of epoch %d: %t", when, from, number, got)
		}
	}
	check("before the last word", "b", lastWord, 0, true)
	check("before the last word", "b", lastWord, 1, true)
	check("before the last word", "b", more, 1, false)
	v.replicas["b"] = Replica{Left: &Left{Sites: []SiteID{"a", "c"}}, epoch: 1}
	check("after the last word", "b", lastWord, 0, true)
	check("after the last word", "b", more, 0, false)
	check("after the last word", "b", lastWord, 1, false)
	check("after the last word", "a", more, 1, false)
}

// TestALastWordOfAnEarlierEpochIsNotKeptFromBefore has what a site wrote last in an epoch come after its very last word, which is in the next
// one: what was known until then of its last word in the earlier document does not count any more.
func TestALastWordOfAnEarlierEpochIsNotKeptFromBefore(t *testing.T) {
	v := newView("a", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
	for _, epoch := range []uint64{0, 1, 0} {
		v.lastWords["b/d"] = [32]byte{1}
		v.from = epoch
		if err := v.take(Entry{Map: MapReplicas, Key: "b", Value: compactStruct(Replica{Settled: map[Line]uint64{}})}, nil); err != nil {
			t.Fatal(err)
		}
		if len(v.lastWords) > 0 {
			t.Errorf("after an entry of epoch %d: %v", epoch, v.lastWords)
		}
	}
	if v.replicas["b"].epoch != 1 {
		t.Error("an entry of an earlier epoch has taken the place of a later one")
	}
}

// TestWhoIsRemovedTellsNoMoreOfContents has a site be removed from a container while its application answers: it writes nothing of what the
// answer tells, for it may have had its last word, and others take nothing in after that.
func TestWhoIsRemovedTellsNoMoreOfContents(t *testing.T) {
	v := newView("b", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b"}}, nil, lab)
	v.contents[contentKey("b", "item", "old")] = Inner{Kind: "item", Local: "old"}
	write := func() int {
		return len(v.contentNews(Inner{Kind: "item", Local: "new"}, false)) + len(v.contentGone("item", "old"))
	}
	if n := write(); n != 2 {
		t.Errorf("a member writes %d entries of 2", n)
	}
	v.placed = &Placement{Sites: []SiteID{"a"}}
	if n := write(); n != 0 {
		t.Errorf("who was removed writes %d entries", n)
	}
}

// TestWhoHasLeftHasNoSayInConflicts has a site leave a container in which a name was given twice. It could let that be as long as it belonged
// to the resource; what it said afterwards nobody would take in.
func TestWhoHasLeftHasNoSayInConflicts(t *testing.T) {
	v := newView("b", func(id SiteID) SiteName { return SiteName(id) }, "d", About{Key: "web", Placement: []SiteID{"a", "b", "c"}}, nil, lab)
	for _, site := range []SiteID{"a", "c"} {
		v.contents[contentKey(site, "item", "x")] = Inner{Kind: "item", Local: "x", Name: "x"}
	}
	if list := v.conflicts(); len(list) != 1 {
		t.Errorf("a member tells of %v", list)
	}
	v.placed, v.replicas["b"] = &Placement{Sites: []SiteID{"a", "c"}}, Replica{Left: &Left{Sites: []SiteID{"a", "c"}}}
	if list := v.conflicts(); len(list) != 0 {
		t.Errorf("who has left tells of %v", list)
	}
}

package engine

import "testing"

// TestWhatHasMadeADeletedObject has a site find an object again that a lost run of its agent had made and deleted: the create counts as done, so
// that there is something to delete, and no more of what came before the deletion does.
func TestWhatHasMadeADeletedObject(t *testing.T) {
	h, line := HistoryOf(lab), lineOf("a", "r", 0)
	h.Add(&Operation{ID: "1", Type: TypeCreate, Origin: "a", Run: "r", Seq: 1, Time: 1, Change: &Change{}})
	h.Add(&Operation{ID: "2", Type: TypeAction, Origin: "a", Run: "r", Seq: 2, Time: 2})
	h.Add(&Operation{ID: "3", Type: TypeDelete, Origin: "b", Run: "r", Seq: 1, Time: 3, Seen: map[Line]uint64{line: 2}})
	if made := h.made(h.Ordered()); len(made) != 1 || made[0].ID != "1" {
		t.Errorf("%d operations have made it", len(made))
	}
	if made := h.made(h.Ordered()[:2]); len(made) != 0 {
		t.Error("something has made what was not deleted")
	}
}

package waiting

import "testing"

func TestRoomIsBoundedForEachAndInAll(t *testing.T) {
	r := NewRoom(Rooms{All: Share{4, 100}, Each: Share{3, 60}, Nobody: Share{1, 10}})
	for i, c := range []struct {
		who   string
		bytes int64
		must  bool
		want  bool
	}{
		{"", 11, false, false}, {"", 10, false, true}, {"", 0, false, false}, {"ann", 60, false, true}, {"ann", 1, false, false},
		{"bob", 31, false, false}, {"bob", 10, false, true}, {"cem", 20, false, true}, {"dan", 0, false, false}, {"dan", 500, true, true},
	} {
		if got := r.Take(c.who, c.bytes, c.must); got != c.want {
			t.Errorf("%d: %t for %q, %d bytes", i, got, c.who, c.bytes)
		}
	}
	r.Give("dan", 500)
	r.Give("ann", 60)
	if !r.Take("ann", 60, false) || len(r.used) != 4 {
		t.Errorf("what was given back is not there: %v", r.used)
	}
}

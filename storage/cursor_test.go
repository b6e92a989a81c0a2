package storage

import "testing"

// FuzzCursor reads what a client says that a list is to go on after. What is none of that list's is refused, and what is read is written as it was.
func FuzzCursor(f *testing.F) {
	lists := []byte{resourceCursor, oldestCursor, nameCursor, changeCursor, operationCursor, oldestOperationCursor, conflictCursor}
	for i, list := range lists {
		f.Add(uint8(i), encodeCursor(list, position{1, -1, ""}))
		f.Add(uint8(i), encodeCursor(list, position{1, 2, "a name"}))
	}
	f.Fuzz(func(t *testing.T, which uint8, cursor string) {
		list := lists[int(which)%len(lists)]
		at, err := decodeCursor(list, cursor)
		if err == nil && encodeCursor(list, at) != cursor {
			t.Errorf("%q is read as %+v", cursor, at)
		}
	})
}

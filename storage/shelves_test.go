package storage

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// on lists the keys and values of a shelf.
func on(t *testing.T, s *Shelves, shelf, from, before string, limit int, lastFirst bool) []string {
	t.Helper()
	list := []string{}
	if err := s.Records(context.Background(), shelf, from, before, limit, lastFirst, func(key string, value []byte) error {
		list = append(list, key+"="+string(value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestShelvesKeepInOrderAndApart(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	store := open(t, dir)
	s := store.Shelves()
	for _, r := range [][3]string{{"a", "2", "two"}, {"a", "1", "one"}, {"b", "1", "other"}, {"a", "3", "three"}, {"a", "2", "TWO"}} {
		if err := s.PutRecord(ctx, r[0], r[1], []byte(r[2])); err != nil {
			t.Fatal(err)
		}
	}
	if got := on(t, s, "a", "", "~", 10, false); !slices.Equal(got, []string{"1=one", "2=TWO", "3=three"}) {
		t.Errorf("got %v", got)
	}
	if got := on(t, s, "a", "", "3", 1, true); !slices.Equal(got, []string{"2=TWO"}) {
		t.Errorf("the last one before 3: %v", got)
	}
	enough := errors.New("enough")
	if err := s.Records(ctx, "a", "", "~", 10, false, func(string, []byte) error { return enough }); err != enough {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := s.DropRecord(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir).Shelves()
	if got := on(t, s, "a", "", "~", 10, false); !slices.Equal(got, []string{"2=TWO", "3=three"}) {
		t.Errorf("after a restart: %v", got)
	}
	if _, err := s.Record(ctx, "a", "1"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what was dropped: %v", err)
	}
	if err := s.DropRecords(ctx, "a", "", "3"); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Record(ctx, "a", "3"); err != nil || string(v) != "three" {
		t.Errorf("got %q, %v", v, err)
	}
	if got := append(on(t, s, "a", "", "~", 10, false), on(t, s, "b", "", "~", 10, false)...); !slices.Equal(got, []string{"3=three", "1=other"}) {
		t.Errorf("in the end: %v", got)
	}
}

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// shelfOf is a store of one shelf.
type shelfOf struct {
	kept map[string][]byte
	fail error
}

func (s *shelfOf) PutRecord(_ context.Context, _, key string, value []byte) error {
	if s.fail == nil {
		s.kept[key] = slices.Clone(value)
	}
	return s.fail
}

func (s *shelfOf) DropRecords(_ context.Context, _, from, before string) error {
	maps.DeleteFunc(s.kept, func(k string, _ []byte) bool { return k >= from && k < before })
	return nil
}

func (s *shelfOf) Records(_ context.Context, _, from, before string, limit int, lastFirst bool, take func(string, []byte) error) error {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(s.kept)), func(k string) bool { return k < from || k >= before })
	if lastFirst {
		slices.Reverse(keys)
	}
	for _, k := range keys[:min(limit, len(keys))] {
		if err := take(k, s.kept[k]); err != nil {
			return err
		}
	}
	return nil
}

var secret = []byte("a key of the data directory")

func filled(t *testing.T, n int) (*shelfOf, *Log) {
	t.Helper()
	s := &shelfOf{kept: map[string][]byte{}}
	l := New(s, secret)
	for i := range n {
		r := Record{At: time.Now(), Account: "ada", By: "session", Role: "operator", Method: "POST", Path: fmt.Sprintf("/api/v1/x/%d", i), Status: 200}
		if _, err := l.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	return s, l
}

func verify(t *testing.T, l *Log) Finding {
	t.Helper()
	f, err := l.Verify(context.Background(), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheChainGoesOnAfterARestart(t *testing.T) {
	s, l := filled(t, 3)
	before := verify(t, l)
	l = New(s, secret)
	if _, err := l.Append(context.Background(), Record{Path: "/é\xff<&>", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if f := verify(t, l); !f.Intact || f.First != 1 || f.Last != 4 || f.Records != 4 || f.Head == before.Head {
		t.Errorf("got %+v", f)
	}
	if f, err := l.Verify(context.Background(), before.Last, before.Head); err != nil || !f.Intact {
		t.Errorf("the head that was noted: %+v, %v", f, err)
	}
}

func TestWhatIsTamperedWithIsFound(t *testing.T) {
	change := func(n uint64, of func(r *Record)) func(map[string][]byte) {
		return func(kept map[string][]byte) {
			var r Record
			if err := json.Unmarshal(kept[key(n)], &r); err != nil {
				panic(err)
			}
			of(&r)
			kept[key(n)], _ = json.Marshal(r)
		}
	}
	for name, c := range map[string]struct {
		tamper func(map[string][]byte)
		want   string
	}{
		"changed":             {change(3, func(r *Record) { r.Account = "eve" }), "record 3 has been changed"},
		"changed and sealed":  {change(3, func(r *Record) { r.Account = "eve"; _ = r.seal(nil) }), "record 3 has been changed"},
		"the old end":         {func(k map[string][]byte) { delete(k, key(1)); delete(k, key(2)) }, "begins with 3"},
		"taken out":           {func(k map[string][]byte) { delete(k, key(3)) }, "after record 2 comes 4"},
		"cut at the new end":  {func(k map[string][]byte) { delete(k, key(5)); delete(k, key(4)) }, "record 5 is gone"},
		"moved":               {func(k map[string][]byte) { k[key(2)] = k[key(3)] }, "it says that it is number 3"},
		"garbage":             {func(k map[string][]byte) { k[key(2)] = []byte("x") }, "cannot be read"},
		"the last one anew":   {change(5, func(r *Record) { r.Status = 500; _ = r.seal(nil) }), "record 5 has been changed"},
		"all of it after two": {rewrite(3, 5), "record 3 has been changed"},
	} {
		s, l := filled(t, 5)
		head := verify(t, l)
		c.tamper(s.kept)
		f, err := New(s, secret).Verify(context.Background(), 0, "")
		if strings.HasPrefix(name, "cut") { // only a head that was noted tells
			f, err = New(s, secret).Verify(context.Background(), head.Last, head.Head)
		}
		if err != nil || f.Intact || !strings.Contains(f.Reason, c.want) {
			t.Errorf("%s: %+v, %v; want %q", name, f, err, c.want)
		}
		if _, _, err := New(s, secret).List(context.Background(), 0, 10); err != nil {
			t.Errorf("%s: the rest cannot be listed: %v", name, err)
		}
	}
}

// rewrite makes a chain that is in order by itself.
func rewrite(from, to uint64) func(map[string][]byte) {
	return func(kept map[string][]byte) {
		var last Record
		_ = json.Unmarshal(kept[key(from-1)], &last)
		for n := from; n <= to; n++ {
			var r Record
			_ = json.Unmarshal(kept[key(n)], &r)
			r.Account, r.Previous = "eve", last.Hash
			_ = r.seal(nil)
			kept[key(n)], _ = json.Marshal(r)
			last = r
		}
	}
}

func TestTheTrailIsBoundedAndStaysVerifiable(t *testing.T) {
	s, l := filled(t, 0)
	l.keep, l.trimEvery = 10, 5
	for range 37 {
		if _, err := l.Append(context.Background(), Record{At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if f := verify(t, l); !f.Intact || f.First != 26 || f.Last != 37 {
		t.Errorf("got %+v", f)
	}
	if len(s.kept) != 12 {
		t.Errorf("%d are kept", len(s.kept))
	}
	if _, err := l.Verify(context.Background(), 3, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "trimmed") {
		t.Errorf("a head that was trimmed: %v", err)
	}
}

func TestAFailedWriteLeavesNoGap(t *testing.T) {
	s, l := filled(t, 2)
	s.fail = errors.New("disk full")
	if _, err := l.Append(context.Background(), Record{}); !errors.Is(err, s.fail) {
		t.Errorf("got %v", err)
	}
	s.fail = nil
	if r, err := l.Append(context.Background(), Record{}); err != nil || r.N != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	if f := verify(t, l); !f.Intact || f.Last != 3 {
		t.Errorf("got %+v", f)
	}
}

// What anybody can have recorded at will pushes out nothing: 51,000 attempts to log in are an hour's share of records.
func TestInvariantNobodyPushesTheTrailOut(t *testing.T) {
	s, l := filled(t, 0)
	ctx, now := context.Background(), time.Now()
	act := Record{At: now, Account: "ada", Path: "/the-act"}
	if _, err := l.Append(ctx, act); err != nil {
		t.Fatal(err)
	}
	for range Keep + trimEvery {
		if _, err := l.Paced(ctx, "to log in", Record{At: now, Account: "eve"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := l.Paced(ctx, "another", Record{At: now, Account: "bob"}); n == 0 || err != nil {
		t.Errorf("one source holds up another: %d, %v", n, err)
	}
	if _, err := l.Paced(ctx, "to log in", Record{At: now.Add(2 * time.Hour), Account: "eve"}); err != nil {
		t.Fatal(err)
	}
	list, next, err := l.List(ctx, 0, 1000)
	if err != nil || next != 0 || len(list) != Hourly+3 || list[len(list)-1].Path != "/the-act" || list[0].More != Keep+trimEvery-Hourly {
		t.Errorf("%d records are left of %d, next %d, %v; the newest tells of %d more", len(list), len(s.kept), next, err, list[0].More)
	}
}

// A list shows an act once: as what came of it, or as begun where that is not known.
func TestAnActIsListedOnce(t *testing.T) {
	_, l := filled(t, 0)
	ctx := context.Background()
	for i := range 7 {
		begun, err := l.Append(ctx, Record{Path: fmt.Sprint("/", i)})
		if err == nil && i != 3 {
			_, err = l.Append(ctx, Record{Path: fmt.Sprint("/", i), Of: begun.N, Status: 200})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for before := uint64(0); ; {
		list, next, err := l.List(ctx, before, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			got = append(got, fmt.Sprint(r.Path, " ", r.Status))
		}
		if before = next; next == 0 {
			break
		}
	}
	if want := "/6 200, /5 200, /4 200, /3 0, /2 200, /1 200, /0 200"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

package engine

import (
	"errors"
	"strings"
	"testing"
)

func TestAfter(t *testing.T) {
	a := MakeAfter(DocumentID(strings.Repeat("0a", 32)), &Operation{Line: LineOf("QmParis", "r1"), Number: 7}, []SiteID{"QmParis", "QmNantes"})
	all, err := ParseAfters([]string{a.String(), " , " + a.String() + ","})
	if err != nil || len(all) != 2 {
		t.Fatalf("reads %v, %v", all, err)
	}
	b := all[1]
	if b.Document != a.Document || b.Line != a.Line || b.Number != 7 || !b.Concerns("QmNantes") || b.Concerns("QmLyon") {
		t.Errorf("is read as %+v", b)
	}
	if JoinAfters(all) != a.String()+", "+a.String() {
		t.Error(JoinAfters(all))
	}
	if all, err := ParseAfters(nil); len(all) > 0 || err != nil {
		t.Errorf("none is read as %v, %v", all, err)
	}
	one := a.String()
	for _, text := range []string{"x", one[:8], one + "AA", strings.Repeat("A", maxAfter+1), strings.TrimSuffix(strings.Repeat(one+",", MaxAfters+1), ","),
		MakeAfter("0a", &Operation{Line: "QmParis/r1", Number: 7}, nil).String(),
		MakeAfter(a.Document, &Operation{Line: "QmParis/", Number: 7}, nil).String(),
		MakeAfter(a.Document, &Operation{Line: "QmParis/r1"}, nil).String()} {
		if _, err := ParseAfters([]string{text}); !errors.Is(err, ErrRefused) {
			t.Errorf("%.60s is taken: %v", text, err)
		}
	}
}

func FuzzAfter(f *testing.F) {
	f.Add(MakeAfter(DocumentID(strings.Repeat("0a", 32)), &Operation{Line: LineOf("QmParis", "r1"), Number: 7}, []SiteID{"QmParis"}).String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseAfters([]string{text})
		if err != nil {
			return
		}
		again, err := ParseAfters([]string{JoinAfters(all)})
		if err != nil || JoinAfters(again) != JoinAfters(all) {
			t.Errorf("%q is read as %v and then as %v, %v", text, all, again, err)
		}
	})
}

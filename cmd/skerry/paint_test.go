package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestColoursAreThoseOfTheWorst(t *testing.T) {
	var b bytes.Buffer
	for _, c := range []struct{ column, text, want string }{
		{"STATE", "converged", well}, {"STATE", "reachable, images failing", wrong}, {"STATE", "unreachable, cloned", wrong}, {"state", "converging", busy},
		{"WORRY", "decide", look}, {"DECISIONS", "2", look}, {"DECISIONS", "0", ""}, {"FAILING", "images paused", wrong}, {"FAILING", "-", ""},
		{"STATE", "this site", ""}, {"SITE", "failing", ""},
	} {
		want := c.text
		if c.want != "" {
			want = c.want + c.text + plain
		}
		if got := paint(painted{&b}, c.column, c.text); got != want {
			t.Errorf("%s %s is painted %q", c.column, c.text, got)
		}
		if got := paint(&b, c.column, c.text); got != c.text {
			t.Errorf("without colours %s is painted %q", c.text, got)
		}
	}
}

// TestColoursTakeNoRoom: a table has its columns under each other with colours as without them.
func TestColoursTakeNoRoom(t *testing.T) {
	rows := func() [][]string { return [][]string{{"paris", "converged", "1"}, {"nantes", "conflict", "20"}} }
	print := func(w io.Writer) {
		each := table{out: w, width: 40, columns: []column{{"SITE", 0, 0}, {"STATE", 8, 0}, {"N", 0, 0}}}
		each.print(rows())
	}
	var with, without bytes.Buffer
	print(painted{&with})
	print(&without)
	bare := with.String()
	for _, code := range []string{well, wrong, plain} {
		if !strings.Contains(bare, code) {
			t.Errorf("%q is nowhere in %q", code, with.String())
		}
		bare = strings.ReplaceAll(bare, code, "")
	}
	if bare != without.String() {
		t.Errorf("with colours it is\n%s\nwithout\n%s", bare, without.String())
	}
}

func TestShareLeavesNothingOut(t *testing.T) {
	for height := 10; height < 80; height++ {
		r := share(height, 3, 50, 20)
		if lines := 3 + 2 + r.sites + 2 + r.worries + 1 + 2 + r.operations; r.sites < 1 || r.worries < 1 || r.operations > 0 && lines > height+1 {
			t.Errorf("%d lines are shared as %+v", height, r)
		}
	}
}

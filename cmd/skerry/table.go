package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// column is one column of a table. When the table is wider than the terminal, columns with a least width give up room;
// the others, such as identifiers, which people copy, never do. If that is not enough, columns are left out, those
// with the highest drop first; 0 stays.
type column struct {
	name        string
	least, drop int
}

// table prints rows under columns. Its widths are fixed by the first rows, so that rows can be added to it.
type table struct {
	out     io.Writer
	width   int // of the terminal; 0: no bound
	columns []column
	widths  []int // once fixed; -1: left out
}

const gap = "  "

// print prints rows, and the head of the table before the first ones.
func (t *table) print(rows [][]string) {
	for i, row := range rows {
		for j := range row {
			rows[i][j] = clean(row[j])
			if rows[i][j] == "" {
				rows[i][j] = "-"
			}
		}
	}
	if t.widths == nil {
		t.fit(rows)
		head := make([]string, len(t.columns))
		for i, c := range t.columns {
			head[i] = c.name
		}
		t.line(io.Discard, head)
	}
	for _, row := range rows {
		t.line(t.out, row)
	}
}

func (t *table) fit(rows [][]string) {
	t.widths = make([]int, len(t.columns))
	total, least := -len(gap), -len(gap) // as wide as its content, and as narrow as it gets
	for i, c := range t.columns {
		t.widths[i] = utf8.RuneCountInString(c.name)
		for _, row := range rows {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(row[i]))
		}
		total += t.widths[i] + len(gap)
		least += t.least(i) + len(gap)
	}
	if t.width == 0 {
		return
	}
	for least > t.width {
		out := t.choose(func(i int) int { return t.columns[i].drop })
		if out < 0 {
			break
		}
		total -= t.widths[out] + len(gap)
		least -= t.least(out) + len(gap)
		t.widths[out] = -1
	}
	for ; total > t.width; total-- { // take a place from the widest that can give one
		widest := t.choose(func(i int) int {
			if t.widths[i] <= t.least(i) {
				return 0
			}
			return t.widths[i]
		})
		if widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

// least is the width that column i needs.
func (t *table) least(i int) int {
	if c := t.columns[i]; c.least > 0 {
		return min(t.widths[i], max(c.least, utf8.RuneCountInString(c.name)))
	}
	return t.widths[i]
}

// choose returns the column, of those not left out, for which of is greatest and over 0; -1 if there is none.
func (t *table) choose(of func(i int) int) int {
	best, most := -1, 0
	for i, w := range t.widths {
		if n := of(i); w >= 0 && n > most {
			best, most = i, n
		}
	}
	return best
}

// line prints cells, with colours as an output has them.
func (t *table) line(colours io.Writer, cells []string) {
	var b strings.Builder
	for i, cell := range cells {
		if t.widths[i] < 0 {
			continue
		}
		if t.columns[i].least > 0 && t.width > 0 {
			cell = shorten(cell, t.widths[i])
		}
		b.WriteString(paint(colours, t.columns[i].name, cell) + strings.Repeat(" ", max(0, t.widths[i]-utf8.RuneCountInString(cell))) + gap)
	}
	fmt.Fprintln(t.out, strings.TrimRight(b.String(), " "))
}

// shorten cuts s to n characters and marks that it did.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// clean keeps what applications and other sites wrote from steering the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '�'
		}
		return r
	}, s)
}

// terminalWidth is COLUMNS, or the width of the terminal that w is, or 0.
func terminalWidth(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// fields prints names and values, one a line; a value may have several lines.
func fields(w io.Writer, pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, len(pairs[i]))
	}
	for i := 0; i < len(pairs); i += 2 {
		lines := strings.Split(strings.TrimRight(pairs[i+1], "\n"), "\n")
		if lines[0] == "" {
			continue
		}
		for j, l := range lines {
			name := ""
			if j == 0 {
				name = pairs[i]
			}
			fmt.Fprintf(w, "%-*s%s%s\n", width, name, gap, paint(w, name, clean(l)))
		}
	}
}

// ago tells how long before now t was; empty for no time.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return span(now.Sub(t))
}

// span tells a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < -time.Second:
		return "in " + span(-d)
	case d < time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// moment tells a time with how long ago it was.
func moment(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := span(now.Sub(t))
	if d != "now" && !strings.HasPrefix(d, "in ") {
		d += " ago"
	}
	return fmt.Sprintf("%s (%s)", t.In(now.Location()).Format("2006-01-02 15:04:05"), d)
}

package conform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Verdict is what came of two concurrent operations.
type Verdict string

const (
	// Same: direct clients are shown the same, the agents say so, and nothing that was acknowledged is missing.
	Same Verdict = "same"
	// AskedSame: they are shown the same, and a person is asked about something.
	AskedSame Verdict = "same, asked"
	// Early: they are shown the same in the end, and an agent has said so before.
	Early Verdict = "early"
	// Asked: they are shown different things, the agents say so and ask a person.
	Asked Verdict = "asked"
	// Lost: they are shown the same, without something that was acknowledged.
	Lost Verdict = "lost"
	// Differs: they are shown different things, and the agents say that they are the same.
	Differs Verdict = "differs"
	// Refusal: the application has refused one of the operations at the site where it was asked.
	Refusal Verdict = "refused"
)

// rank orders verdicts: of several objects the worst counts.
var rank = map[Verdict]int{Same: 0, AskedSame: 1, Early: 2, Asked: 3, Lost: 4, Differs: 5}

// Report is what came of a run.
type Report struct {
	Application string        `json:"application"`
	Kinds       []*KindReport `json:"kinds"`
}

// KindReport is what came of one kind.
type KindReport struct {
	Kind string `json:"kind"` // SERVICE/KIND
	// Untried is why nothing was tried; empty: it was.
	Untried string `json:"untried,omitempty"`
	// Operations are those that the application takes; NotTaken those that it does not.
	Operations []string  `json:"operations"`
	NotTaken   []Refused `json:"not_taken,omitempty"`
	// Assigned are the fields that were left out of the comparison.
	Assigned []LeftOut       `json:"left_out,omitempty"`
	Cases    []Case          `json:"cases"`
	Counts   map[Verdict]int `json:"counts"`
	Deleted  Deleted         `json:"deleted"`
}

// Refused is an operation that an application does not take.
type Refused struct {
	Operation string `json:"operation"`
	Why       string `json:"why"`
}

// LeftOut is a field that was not compared.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Case is one pair of operations: the first at one site, the second, which is later, at the other.
type Case struct {
	First   string  `json:"first"`
	Second  string  `json:"second"`
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`
}

// Deleted tells of the objects that were there in the end: how many were deleted through one agent, and are gone from both applications.
type Deleted struct {
	Of   int      `json:"of"`
	Gone int      `json:"gone"`
	Left []string `json:"left,omitempty"`
}

func (k *KindReport) count() {
	k.Counts = map[Verdict]int{}
	for _, c := range k.Cases {
		k.Counts[c.Verdict]++
	}
}

// Conforms reports whether direct clients were shown the same of everything, and nothing was lost or left.
func (r *Report) Conforms() bool {
	return !slices.ContainsFunc(r.Kinds, func(k *KindReport) bool {
		return len(k.Deleted.Left) > 0 || slices.ContainsFunc(k.Cases, func(c Case) bool {
			return c.Verdict == Differs || c.Verdict == Lost || c.Verdict == Asked || c.Verdict == Early
		})
	})
}

// Summary is a table of how many pairs of each kind ended how.
func (r *Report) Summary() string {
	var b strings.Builder
	b.WriteString("| kind | pairs | the same | asked, the same | early | asked, differ | lost | untrue | refused | deleted |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, k := range r.Kinds {
		fmt.Fprintf(&b, "| %s | %d |", k.Kind, len(k.Cases))
		for _, v := range []Verdict{Same, AskedSame, Early, Asked, Lost, Differs, Refusal} {
			fmt.Fprintf(&b, " %d |", k.Counts[v])
		}
		fmt.Fprintf(&b, " %d of %d |\n", k.Deleted.Gone, k.Deleted.Of)
	}
	return b.String()
}

// signs stand for verdicts in a table.
var signs = map[Verdict]string{Same: "=", AskedSame: "= ?", Early: "early", Asked: "≠ ?", Lost: "lost", Differs: "**≠**", Refusal: "–"}

// Markdown is the report as a page has it, below a heading of the given level.
func (r *Report) Markdown(level int) string {
	var b strings.Builder
	for _, k := range r.Kinds {
		fmt.Fprintf(&b, "%s %s\n\n", strings.Repeat("#", level), k.Kind)
		k.markdown(&b)
	}
	return b.String()
}

func (k *KindReport) markdown(b *strings.Builder) {
	if k.Untried != "" {
		fmt.Fprintf(b, "Not tried: %s\n\n", escaped(k.Untried))
		return
	}
	var made []string
	for i, op := range k.Operations {
		made = append(made, fmt.Sprintf("%d. `%s`", i+1, op))
	}
	b.WriteString(strings.Join(made, "\n") + "\n\n")
	k.table(b)
	k.notes(b)
	for _, n := range k.NotTaken {
		fmt.Fprintf(b, "Not taken: `%s`: %s\n\n", n.Operation, escaped(n.Why))
	}
	if len(k.Assigned) > 0 {
		var all []string
		for _, l := range k.Assigned {
			all = append(all, fmt.Sprintf("`%s` (%s)", l.Path, l.Why))
		}
		fmt.Fprintf(b, "Left out: %s.\n\n", strings.Join(all, ", "))
	}
	fmt.Fprintf(b, "Deleted afterwards: %d of %d.\n\n", k.Deleted.Gone, k.Deleted.Of)
	for _, l := range k.Deleted.Left {
		fmt.Fprintf(b, "- left behind: %s\n", escaped(l))
	}
	if len(k.Deleted.Left) > 0 {
		b.WriteString("\n")
	}
}

// table has a row for each first operation and a column for each second one.
func (k *KindReport) table(b *strings.Builder) {
	b.WriteString("| |")
	for i := range k.Operations {
		fmt.Fprintf(b, " %d |", i+1)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(k.Operations)) + "\n")
	for i, first := range k.Operations {
		fmt.Fprintf(b, "| %d |", i+1)
		for _, second := range k.Operations {
			cell := ""
			for _, c := range k.Cases {
				if c.First == first && c.Second == second {
					cell = signs[c.Verdict]
				}
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// notes tell of the pairs that did not end the same, those with the same reason together.
func (k *KindReport) notes(b *strings.Builder) {
	type note struct {
		verdict Verdict
		why     string
		pairs   []string
	}
	var all []*note
	number := func(name string) int { return slices.Index(k.Operations, name) + 1 }
	for _, c := range k.Cases {
		if c.Verdict == Same {
			continue
		}
		i := slices.IndexFunc(all, func(n *note) bool { return n.verdict == c.Verdict && kindOf(n.why) == kindOf(c.Why) })
		if i < 0 {
			all, i = append(all, &note{verdict: c.Verdict, why: c.Why}), len(all)
		}
		all[i].pairs = append(all[i].pairs, fmt.Sprintf("%d × %d", number(c.First), number(c.Second)))
	}
	slices.SortStableFunc(all, func(x, y *note) int { return cmp.Compare(rank[y.verdict], rank[x.verdict]) })
	for _, n := range all {
		fmt.Fprintf(b, "- %s %s: %s\n", signs[n.verdict], strings.Join(n.pairs, ", "), escaped(n.why))
	}
	if len(all) > 0 {
		b.WriteString("\n")
	}
}

// kindOf is a reason without what names one object: the text before the first digit.
func kindOf(why string) string {
	if i := strings.IndexAny(why, "0123456789"); i > 20 {
		return why[:i]
	}
	return why
}

// escaped is text that markdown shows as it is, in one line.
func escaped(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace(text)
}

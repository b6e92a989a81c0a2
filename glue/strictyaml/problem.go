package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is the most problems that an Error lists.
const MaxProblems = 100

// Problem is one thing that is wrong with a file. Line and Column count from 1; both are 0 when the problem is the
// file as a whole.
type Problem struct {
	Line, Column int
	Message      string
}

// Error holds all problems of one file, in the order of the file.
type Error struct {
	File     string
	Problems []Problem
	// More counts the problems beyond MaxProblems.
	More int
}

// Error has a line for each problem: "file:line:column: message".
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": " + p.Message)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n%s: and %d more", e.File, e.More)
	}
	return b.String()
}

// problems collects what is wrong.
type problems struct {
	file string
	list []Problem
}

func (p *problems) add(line, column int, format string, args ...any) {
	p.list = append(p.list, Problem{line, column, fmt.Sprintf(format, args...)})
}

// err returns an *Error, or nil when there is no problem.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	e := &Error{File: p.file, Problems: list}
	if len(list) > MaxProblems {
		e.Problems, e.More = list[:MaxProblems], len(list)-MaxProblems
	}
	return e
}

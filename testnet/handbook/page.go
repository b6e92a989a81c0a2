package handbook

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is one block of commands.
type Block struct {
	Line     int      // of the page
	At       []string // machines
	Commands string
	// Shows are the lines that its output has, in order; "…" stands for anything.
	Shows []string
}

// fence begins or ends a block, which may stand in an item of a list.
var fence = regexp.MustCompile("^( *)```(\\w*)$")

// Parse takes a page's blocks of commands, each of which begins with a comment that says where, and the text that may follow one.
func Parse(page string) (blocks []Block, err error) {
	kind, indent, begin := "", "", 0
	var inside []string
	for i, line := range strings.Split(page, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m == nil && kind != "":
			inside = append(inside, strings.TrimPrefix(line, indent))
		case m == nil:
		case kind == "" && m[2] == "":
			return nil, fmt.Errorf("line %d: a block does not say what it is", i+1)
		case kind == "":
			indent, kind, begin, inside = m[1], m[2], i+1, nil
		default:
			switch {
			case kind == "text" && len(blocks) > 0:
				blocks[len(blocks)-1].Shows = inside
			case kind == "sh":
				b := Block{Line: begin, Commands: strings.Join(inside, "\n")}
				where, _, _ := strings.Cut(b.Commands, "\n")
				if !strings.HasPrefix(where, "# at ") {
					return nil, fmt.Errorf("line %d: a block begins with \"# at MACHINE\"", begin)
				}
				for _, at := range regexp.MustCompile(`at (\w+)`).FindAllStringSubmatch(where, -1) {
					b.At = append(b.At, at[1])
				}
				blocks = append(blocks, b)
			}
			kind = ""
		}
	}
	return blocks, nil
}

// Missing is the first line that an output does not have in its turn, empty for none.
func (b Block) Missing(output string) string {
	for _, want := range b.Shows {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
		at := regexp.MustCompile("(?m)^" + pattern).FindStringIndex(output)
		if at == nil {
			return want
		}
		output = output[at[1]:]
	}
	return ""
}

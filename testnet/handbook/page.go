package handbook

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Block is one block of commands.
type Block struct {
	Line     int      // of the page
	At       []string // machines, where its first line says so: "# at MACHINE"
	Commands string
	// Shows are the lines that its output has, in order; "…" stands for anything.
	Shows []string
}

// kinds are what a block may be. Those of sh and console are commands; text that follows one is what that shows.
var kinds = []string{"sh", "console", "text", "yaml", "json", "ini", "ebnf"}

// Parse takes a page's blocks of commands. A block that does not say what it is, is an error: it could hold commands that nobody looks for.
func Parse(page string) (blocks []Block, err error) {
	source := []byte(page)
	err = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		kind := ""
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			kind = string(n.Language(source))
		case *ast.CodeBlock:
		default:
			return ast.WalkContinue, nil
		}
		lines := n.Lines()
		if !entering || lines.Len() == 0 {
			return ast.WalkContinue, nil
		}
		line, inside := bytes.Count(source[:lines.At(0).Start], []byte("\n")), strings.Split(strings.TrimSuffix(string(lines.Value(source)), "\n"), "\n")
		switch {
		case !slices.Contains(kinds, kind):
			return ast.WalkStop, fmt.Errorf("line %d: a block does not say which of %v it is, as in ```sh", line, kinds)
		case kind == "text" && len(blocks) > 0:
			blocks[len(blocks)-1].Shows = inside
		case kind == "sh" || kind == "console":
			b := Block{Line: line, Commands: strings.Join(inside, "\n")}
			if strings.HasPrefix(inside[0], "# at ") {
				for _, at := range regexp.MustCompile(`at (\w+)`).FindAllStringSubmatch(inside[0], -1) {
					b.At = append(b.At, at[1])
				}
			}
			blocks = append(blocks, b)
		}
		return ast.WalkContinue, nil
	})
	return blocks, err
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

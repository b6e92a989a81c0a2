package acceptance

import (
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/handbook"
)

// TestDemo pastes the walk-through, and then what other pages show of the demo.
func TestDemo(t *testing.T) {
	var more []string
	if err := handbook.Blocks(filepath.Join("..", ".."), "testnet/acceptance TestDemo", func(page string, b handbook.Block) error {
		more = append(more, "echo; echo == "+page, b.Commands)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	env.Shows(t, env.Walk(t, 2*patience, program, more),
		`checked at nantes`, `from paris.*checked at nantes`, `from paris.*checked at nantes`, // at each, then at both
		`"name":"shared"`, `"of both"`, `"name":"alone"`, `"name":"either"`,
		`"name":"local"`, `"name":"alone".*"name":"local"|"name":"local".*"name":"alone"`,
		`"count":5`, `"count":8`, `"count":4`, `"count":4`, `Skerry-Missing: nantes`, `"count":8`,
		`"name":"blue".*"name":"yellow"`, `name-taken`, `mismatched owners`, `relied-on`, `reliance`,
		`(?s)== README.md\n.*?"name":"debian"`, `(?s)== docs/scope-lang.md\n.*?"name":"debian"`, `(?s)== docs/cross.md\n.*?"count":5`)
}

package acceptance

import (
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// TestDemo pastes the walk-through.
func TestDemo(t *testing.T) {
	env.Shows(t, env.Walk(t, 2*patience, program),
		`checked at nantes`, `from paris.*checked at nantes`, `from paris.*checked at nantes`, // at each, then at both
		`"name":"shared"`, `"of both"`, `"name":"alone"`, `"name":"either"`,
		`"name":"local"`, `"name":"alone".*"name":"local"|"name":"local".*"name":"alone"`,
		`"count":5`, `"count":8`, `"count":4`, `"count":4`, `Skerry-Missing: nantes`, `"count":8`,
		`"name":"blue".*"name":"yellow"`, `name-taken`, `mismatched owners`, `relied-on`, `reliance`)
}

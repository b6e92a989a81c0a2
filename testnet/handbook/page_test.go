package handbook

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	page := strings.ReplaceAll("text\n'''sh\n# at paris, at nantes\nls\npwd\n'''\nmore\n'''text\na …\n'''\n'''yaml\nx: y\n'''\n1. item\n\n   '''sh\n   # at nantes\n     true\n   '''\n", "'''", "```")
	want := []Block{{2, []string{"paris", "nantes"}, "# at paris, at nantes\nls\npwd", []string{"a …"}}, {16, []string{"nantes"}, "# at nantes\n  true", nil}}
	if got, err := Parse(page); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := Parse("```console\n$ ls\n```\n"); err != nil || len(got) != 1 || got[0].At != nil {
		t.Errorf("of a block that says no machine there is %+v, %v", got, err)
	}
	for _, wrong := range []string{"```\nls\n```\n", "```bash\nls\n```\n", "text\n\n    ls\n", "1. item\n\n       ls\n"} {
		if _, err := Parse(wrong); err == nil {
			t.Errorf("of %q nothing is said", wrong)
		}
	}
}

func TestMissing(t *testing.T) {
	b := Block{Shows: []string{"one …", "…two"}}
	for output, want := range map[string]string{"one 1\nsee two\n": "", "see two\none 1\n": "…two", "none 1\n": "one …"} {
		if got := b.Missing(output); got != want {
			t.Errorf("of %q it misses %q, want %q", output, got, want)
		}
	}
}

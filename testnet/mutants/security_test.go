package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// security is the page whose last tables say which test shows that an attack gains nothing.
const security = root + "/docs/security.md"

var (
	// shownBy are tests of one package, as the tables name them: `TestOne`*, `TestAnother` (engine/mesh).
	shownBy = regexp.MustCompile("((?:`\\w+`\\*?, )*`\\w+`\\*?) \\(([\\w/]+)\\)")
	oneTest = regexp.MustCompile("`(\\w+)`(\\*?)")
)

// TestSecurityNamesItsTests finds a row of docs/security.md that names no test, one that is not in the package that the row says, a star without
// a planted fault that the test has to find, and a planted fault without its star.
func TestSecurityNamesItsTests(t *testing.T) {
	page, err := os.ReadFile(security)
	if err != nil {
		t.Fatal(err)
	}
	finds := map[string]bool{}
	for _, m := range planted() {
		name, _, _ := strings.Cut(m.finder, "/")
		finds[m.folder+"."+name] = true
	}
	n := 0
	_, tables, _ := strings.Cut(string(page), "| fails without the protection |")
	for line := range strings.SplitSeq(tables, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 || strings.HasPrefix(cells[0], "| a client") || strings.HasPrefix(cells[0], "| ---") {
			continue
		}
		n++
		for _, wrong := range wrongOf(t, strings.TrimSuffix(cells[1], " |"), finds) {
			t.Errorf("%s: %s", strings.TrimPrefix(cells[0], "| "), wrong)
		}
	}
	if n == 0 {
		t.Error("the page has no rows")
	}
}

// wrongOf is what is not so in the cell of a row that names its tests.
func wrongOf(t *testing.T, cell string, finds map[string]bool) (wrong []string) {
	t.Helper()
	if left := strings.Trim(shownBy.ReplaceAllString(cell, ""), ", "); left != "" {
		wrong = append(wrong, fmt.Sprintf("%q names no test of a package", left))
	}
	for _, group := range shownBy.FindAllStringSubmatch(cell, -1) {
		for _, test := range oneTest.FindAllStringSubmatch(group[1], -1) {
			switch id, star := group[2]+"."+test[1], test[2] != ""; {
			case !slices.Contains(testsIn(t, group[2]), test[1]):
				wrong = append(wrong, fmt.Sprintf("there is no %s in %s", test[1], group[2]))
			case star && !finds[id]:
				wrong = append(wrong, id+" has a star, and no planted fault")
			case !star && finds[id]:
				wrong = append(wrong, id+" has a planted fault, and no star")
			}
		}
	}
	return wrong
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// testsIn are the tests of the package in a folder.
func testsIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

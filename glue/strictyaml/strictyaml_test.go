package strictyaml

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// boat is what the tests read: a bit of everything.
type boat struct {
	Name  string
	Crew  []string
	Kind  string
	Size  int64
	Wait  time.Duration
	Sails bool
	Cargo string
}

func readBoat(d *Document) boat {
	m := d.Root().Mapping("boat")
	m.Refuse("not available in this version", "engine")
	m.Exclusive("oars", "sails")
	b := boat{
		Name: m.Required("name").Text(),
		Kind: m.Optional("kind").Choice("sloop", "ketch", "yawl"),
		Size: m.Optional("size").Size(),
		Wait: m.Optional("wait").Duration(),
	}
	for _, e := range m.Optional("crew").Sequence() {
		b.Crew = append(b.Crew, e.Text())
	}
	b.Sails = m.Optional("sails").Bool()
	m.Optional("oars").Bool()
	b.Cargo = string(m.Optional("cargo").JSON())
	m.Done()
	return b
}

// problemsOf returns the report of a file, empty when it is right.
func problemsOf(name, text string) (boat, string) {
	d, err := Parse(name, []byte(text))
	if err != nil {
		return boat{}, err.Error()
	}
	b := readBoat(d)
	if err := d.Err(); err != nil {
		return b, err.Error()
	}
	return b, ""
}

func TestReadsWhatIsThere(t *testing.T) {
	b, report := problemsOf("boat.yaml", `
name: "72"
crew: [ann, bob]
kind: ketch
size: 64KiB
wait: 1m30s
sails: true
cargo: {b: [1, 2.5, null, on, <3], a: {x: "é"}}
`)
	if report != "" {
		t.Fatal(report)
	}
	if b.Name != "72" || strings.Join(b.Crew, " ") != "ann bob" || b.Kind != "ketch" || b.Size != 65536 ||
		b.Wait != 90*time.Second || !b.Sails {
		t.Errorf("read %+v", b)
	}
	if want := `{"a":{"x":"é"},"b":[1,2.5,null,"on","<3"]}`; b.Cargo != want {
		t.Errorf("cargo is %s, want %s", b.Cargo, want)
	}
}

func TestReportsEveryProblemAtOnce(t *testing.T) {
	_, report := problemsOf("boat.yaml", `crew: [ann, 7, ann, [x]]
kind: slop
size: huge
nmae: Ann
sai: x
wait: 30
sails: maybe
oars: true
engine: diesel
kind: ketch
3: x
cargo: {a: 0x10, b: .nan, c: 0777}
`)
	want := `boat.yaml:1:1: the boat has no key "name"
boat.yaml:1:13: expected a string, found the number 7; put it in quotes
boat.yaml:1:21: expected a string, found a list
boat.yaml:2:7: expected sloop, ketch or yawl, found "slop"; did you mean "sloop"?
boat.yaml:3:7: expected a size over zero such as 64KiB or 5GiB, found "huge"
boat.yaml:4:1: unknown key "nmae" in a boat; did you mean "name"?
boat.yaml:5:1: unknown key "sai" in a boat; did you mean "sails"?
boat.yaml:6:7: expected a duration over zero such as 500ms, 30s or 1h, found the number 30
boat.yaml:7:8: expected true or false, found "maybe"
boat.yaml:8:1: "sails" and "oars" exclude each other
boat.yaml:9:1: engine: not available in this version
boat.yaml:10:1: the key "kind" is there twice, first in line 2
boat.yaml:11:1: expected a string as key, found the number 3
boat.yaml:12:12: expected a decimal number, found 0x10
boat.yaml:12:21: expected a number, found .nan
boat.yaml:12:30: expected a decimal number, found 0777`
	if report != want {
		t.Errorf("got\n%s\nwant\n%s", report, want)
	}
}

func TestRefusesWhatIsNoPlainDocument(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'l'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "boat.yaml: the file is empty"},
		{"comment alone", "# nothing\n", "boat.yaml: the file is empty"},
		{"null", "~\n", "boat.yaml: the file is empty"},
		{"list", "- a\n", "boat.yaml:1:1: expected a mapping, found a list"},
		{"two documents", "name: a\n---\nname: b\n", "a second document begins here"},
		{"tab", "name:\n\tx: y\n", "boat.yaml:2:1: found character that cannot start any token"},
		{"open quote", "name: 'x\n", "found unexpected end of stream"},
		{"alias", "name: &n Ann\ncrew: [*n]\n", "boat.yaml:2:8: the alias *n is not allowed"},
		{"merge key", "name: Ann\n<<: {kind: sloop}\n", "merge keys are not allowed"},
		{"bomb", bomb, "is not allowed"},
		{"itself", "name: &a [*a]\n", "is not allowed"},
		{"deep", "name: Ann\ncargo: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nest deeper than 64"},
		{"large", "name: " + strings.Repeat("x", MaxSize), "boat.yaml: the file has more than 1048576 bytes"},
		{"bytes", "name: \xff\xfe\n", "invalid"},
		{"no value", "name:\n", `boat.yaml:1:1: the key "name" has no value`},
		{"empty string", "name: ''\n", "expected a string, found an empty one"},
		{"own tag", "name: !!js x\n", "expected a string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, report := problemsOf("boat.yaml", test.text)
			if !strings.Contains(report, test.want) {
				t.Errorf("got %q, want it to contain %q", report, test.want)
			}
		})
	}
}

func TestReportIsBounded(t *testing.T) {
	_, report := problemsOf("boat.yaml", "name: Ann\ncrew: ["+strings.Repeat("1,", 5000)+"]")
	if lines := strings.Count(report, "\n") + 1; lines != MaxProblems+1 {
		t.Errorf("the report has %d lines", lines)
	}
	if !strings.HasSuffix(report, "boat.yaml: and 4900 more") {
		t.Errorf("the report ends in %q", report[len(report)-40:])
	}
}

func TestErrorCanBeTakenApart(t *testing.T) {
	d, err := Parse("boat.yaml", []byte("name: 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	readBoat(d)
	var e *Error
	if !errors.As(d.Err(), &e) || len(e.Problems) != 1 || e.Problems[0].Line != 1 || e.Problems[0].Column != 7 {
		t.Errorf("got %#v", d.Err())
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "64KiB": 65536, "5GiB": 5 << 30, "5 GiB": 5 << 30, "10MB": 10e6, "7B": 7, "2TiB": 2 << 40, "3kB": 3000,
		"0": 0, "-1": 0, "1.5GiB": 0, "GiB": 0, "9999999TiB": 0, "64KiBs": 0, "64k": 0, "010": 0, "0x10": 0,
	} {
		if got, _ := parseSize(text); got != want {
			t.Errorf("%q is %d bytes, want %d", text, got, want)
		}
	}
}

func TestReadFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, make([]byte, MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
}

// FuzzParse looks for input that makes reading panic, run on, or report a place that is not in the file.
func FuzzParse(f *testing.F) {
	f.Add("name: Ann\ncrew: [a, b]\nsize: 64KiB\nwait: 1s\n")
	f.Add("a: &a [*a]\n<<: *a\n---\n? [x]\n: {y: !!bool ''}\n")
	f.Add("cargo: {a: 0x10, b: .inf, c: 2020-01-01, d: !!binary aGk=}\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("f", []byte(text))
		if err == nil {
			readBoat(d)
			err = d.Err()
		}
		var e *Error
		if err == nil {
			return
		}
		if !errors.As(err, &e) || len(e.Problems) == 0 {
			t.Fatalf("got %#v", err)
		}
		for _, p := range e.Problems {
			// YAML breaks lines at CR, LF, NEL, LS and PS.
			if p.Line < 0 || p.Line > 2+len(text) || p.Column < 0 || p.Message == "" || strings.Contains(p.Message, "\n") {
				t.Fatalf("problem %+v", p)
			}
		}
	})
}

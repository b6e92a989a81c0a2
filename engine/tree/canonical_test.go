package tree

import (
	"encoding/json"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestNumbersByValue(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "10e-1": "1", "100": "1e2", "1E+2": "1e2", "-0": "0", "0.00": "0", "-1.50": "-15e-1",
		"12345678901234567890123": "12345678901234567890123", "0.1": "1e-1", "1e999999999999": "1e999999999999",
	} {
		got := numberByValue(json.Number(text))
		if string(got) != want || !json.Valid([]byte(got)) {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
	}
}

// TestADigestIsTheDocuments: equal values show as equal in one document and one place, and nowhere else.
func TestADigestIsTheDocuments(t *testing.T) {
	one := KeyedDigest("d", "fold", []byte("x"))
	if one != KeyedDigest("d", "fold", []byte("x")) || one == KeyedDigest("e", "fold", []byte("x")) ||
		one == KeyedDigest("d", "observed", []byte("x")) || one == KeyedDigest("d", "fold", []byte("y")) || len(one) != 22 {
		t.Errorf("the digest is %s", one)
	}
}

func TestDecimalsAreExactAndBounded(t *testing.T) {
	for _, c := range [][3]string{
		{"0.1", "0.2", "0.3"}, {"1e3", "1", "1001"}, {"-5", "2.50", "-2.5"}, {"1.5", "-1.5", "0"}, {"9007199254740993", "1", "9007199254740994"},
	} {
		a, err := ParseDecimal(c[0])
		b, err2 := ParseDecimal(c[1])
		if got := a.Plus(b).Number(); err != nil || err2 != nil || string(got) != c[2] {
			t.Errorf("%s + %s is %s, %v %v", c[0], c[1], got, err, err2)
		}
		if got := a.Plus(b).Minus(b).Number(); got != a.Number() {
			t.Errorf("%s + %s - %s is %s", c[0], c[1], c[1], got)
		}
	}
	if got := (Decimal{}).Plus(Decimal{}).Times(3).Number(); got != "0" {
		t.Errorf("nothing is %s", got)
	}
	long := make([]byte, 65)
	for i := range long {
		long[i] = '9'
	}
	for _, s := range []string{"", "x", "1e999999999", "1e-65", "0x10", "1_0", "+1", "1e", ".", "-", string(long)} {
		if _, err := ParseDecimal(s); err == nil {
			t.Errorf("%.20q is taken for a number", s)
		}
	}
}

// TestWhatHoldsNothingElse: an object that has only what each site notes for itself is left out with that.
func TestWhatHoldsNothingElse(t *testing.T) {
	k := &Kind{Keys: []engine.Key{{At: "/disks", Member: "name"}}, Ignore: []Pointer{"/meta/notes/count", "/disks/*/serial"}}
	for shown, want := range map[string]string{
		`{"a":1,"meta":{"notes":{"count":1}}}`:         `{"a":1}`,
		`{"a":1,"meta":{"notes":{"count":1,"own":2}}}`: `{"a":1,"meta":{"notes":{"own":2}}}`,
		`{"a":1,"meta":{"notes":{}}}`:                  `{"a":1,"meta":{"notes":{}}}`,
		`{"disks":[{"name":"a","serial":1}]}`:          `{"disks":[{"name":"a"}]}`,
	} {
		if got, _ := Comparable(k, []byte(shown)); string(got) != want {
			t.Errorf("of %s is compared %s, want %s", shown, got, want)
		}
	}
}

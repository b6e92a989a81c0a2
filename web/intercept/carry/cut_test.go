package carry

import (
	"net/url"
	"strings"
	"testing"
)

// Whatever the path: what is cut off and what is left are the path, and nothing that carries a scope is left.
func FuzzPrefix(f *testing.F) {
	for _, s := range []string{"/~scope/a/b", "/~scope/", "/%7escope/%", "/~scope//~scope/%2F/", "/~scope", "/", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		prefix, text, rest, ok := cutPrefix(path)
		if !ok {
			if rest != path {
				t.Fatalf("%q changed to %q", path, rest)
			}
			return
		}
		if prefix+rest != path && (rest != "/" || prefix != path) {
			t.Fatalf("%q is not %q and %q", path, prefix, rest)
		}
		if rest[0] != '/' || strings.Count(prefix, "/") != 2 {
			t.Fatalf("%q: %q %q", path, prefix, rest)
		}
		if plain, err := url.PathUnescape(prefix[strings.LastIndexByte(prefix, '/')+1:]); err != nil || strings.TrimSpace(plain) != text {
			t.Fatalf("%q carries %q", path, text)
		}
	})
}

// Without the scope, baggage is what it was, member by member.
func FuzzBaggage(f *testing.F) {
	f.Add("a=1,scope=x;p, b=2")
	f.Add("scope=%zz,scope=a")
	f.Fuzz(func(t *testing.T, value string) {
		rest, _, found := cutBaggage([]string{value})
		if !found {
			if len(rest) != 1 || rest[0] != value {
				t.Fatalf("%q became %q", value, rest)
			}
			return
		}
		if again, _, found := cutBaggage(rest); found {
			t.Fatalf("%q leaves a scope in %q, then %q", value, rest, again)
		}
	})
}

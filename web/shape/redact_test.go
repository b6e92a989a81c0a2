package shape

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// FuzzShowBody shows any body of a kind of which a field is sensitive. What stands in that field, at whatever depth, is not
// shown.
func FuzzShowBody(f *testing.F) {
	for _, body := range []string{`{"password":%s}`, `[{"a":{"password":%s,"b":1e400}}]`, `[{"op":"add","path":"/password","value":%s}]`, `{"password":[[%s]]}`, `{"name":"x"}%s`} {
		f.Add(body)
	}
	const secret = "nobody-else-s-business"
	k := &engine.Kind{Sensitive: []engine.Pointer{"/password"}}
	f.Fuzz(func(t *testing.T, body string) {
		shown, _ := ShowBody(k, []byte(strings.Replace(body, "%s", `"`+secret+`"`, 1)))
		b, err := json.Marshal(shown)
		if err != nil {
			t.Fatalf("%q is shown as what is no JSON: %v", body, err)
		}
		if strings.Contains(string(b), secret) && strings.Count(body, "%s") == 1 && strings.Contains(body, `"password":%s`) {
			t.Errorf("%q is shown as %s", body, b)
		}
	})
}

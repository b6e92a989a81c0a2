package glue

import (
	"encoding/json"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestVisibilityLocal(t *testing.T) {
	network := &engine.Kind{Service: "neutron", Name: "network", Collection: "/v2.0/networks"}
	when := func(at engine.Pointer, equals string) Visibility {
		return Visibility{Scope: VisibilityLocalWhen, At: at, Equals: json.RawMessage(equals)}
	}
	const flat = `networks of type "flat" are local to their site`
	for _, tt := range []struct {
		name string
		v    Visibility
		body string
		want string
	}{
		{"global", Visibility{Scope: VisibilityGlobal}, `{"type":"flat"}`, ""},
		{"local", Visibility{Scope: VisibilityLocal}, ``, "networks are local to their site"},
		{"flat", when("/type", `"flat"`), `{"type":"flat"}`, flat},
		{"escaped otherwise", when("/type", `"flat"`), "{\"type\" : \"\\u0066lat\"}", flat},
		{"not flat", when("/type", `"flat"`), `{"type":"shared"}`, ""},
		{"no type", when("/type", `"flat"`), `{}`, ""},
		{"no JSON", when("/type", `"flat"`), `{"type":"flat"`, ""},
		{"below", when("/provider/kind", `{"a":1,"b":[]}`), `{"provider":{"kind":{"b":[ ],"a":1}}}`, `networks of provider.kind {"a":1,"b":[]} are local to their site`},
		{"another number", when("/mtu", `1`), `{"mtu":1.0}`, ""},
	} {
		if got := tt.v.Local(network, []byte(tt.body)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

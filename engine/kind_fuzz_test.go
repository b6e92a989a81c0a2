package engine

import "testing"

// FuzzNamed asks which operation of a catalog any body is. One without the place that the catalog names is not it.
func FuzzNamed(f *testing.F) {
	f.Add(`{"os-start":{"force":true}}`)
	f.Add(`{"os-start":null,"os-start":{"force":1}}`)
	f.Add(`[`)
	whole, inner := NamedOperation{BodyAt: "/os-start"}, NamedOperation{BodyAt: "/os-start/force", BodyHas: []byte("true")}
	f.Fuzz(func(t *testing.T, body string) {
		if inner.says([]byte(body)) && !whole.says([]byte(body)) {
			t.Errorf("%q has what is in it, and not what that is in", body)
		}
	})
}

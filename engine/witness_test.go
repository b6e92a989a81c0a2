package engine

import (
	"net/http"
	"testing"
)

// TestObservedPatch: what a patch of the application's own sets is what was seen of it, so that it may be sent again and corrected.
func TestObservedPatch(t *testing.T) {
	k := &Kind{Name: "pod", Item: "/pods/{id}", Ignore: []Pointer{"/status"}, Keys: []Key{{At: "/containers", Member: "name"}},
		ObservedPatches: []string{"application/own-patch+json"}}
	o := &Operation{Type: TypePatch, Method: http.MethodPatch, Path: k.Item, Body: []byte(`{"containers":[{"name":"a","image":"2"}]}`),
		Header: map[string]string{"Content-Type": "application/own-patch+json; charset=utf-8"}}
	if !k.needsBefore(o) || !k.needsAfter(o) || !resendable(k, o) {
		t.Error("it is not observed, or may not be sent again")
	}
	witness(k, o, Fold{}, []byte(`{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}],"status":1}`),
		[]byte(`{"containers":[{"name":"a","image":"2"},{"name":"b","image":"1"}],"status":2}`))
	if len(o.Change.Set) != 1 || string(o.Change.Set["/containers/a/image"]) != `"2"` || len(o.Change.Unset) != 0 {
		t.Errorf("it was seen to set %+v", o.Change)
	}
	o.Header["Content-Type"] = "application/json-patch+json"
	if k.needsBefore(o) || resendable(k, o) {
		t.Error("a JSON Patch is observed")
	}
}

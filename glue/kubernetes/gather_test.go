package kubernetes

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/glue"
)

func TestVersions(t *testing.T) {
	sites := []string{"a", "b"}
	d := Dialect{}
	var before string
	for _, versions := range [][]string{{"", ""}, {"7", ""}, {"7", "9999"}, {"8", "9999"}, {"8", "10000"}, {"18446744073709551615", "10000"}} {
		text := d.Versions(sites, versions)
		if len(text) < len(before) || len(text) == len(before) && text <= before {
			t.Errorf("%v is %s, which is not after %s", versions, text, before)
		}
		before = text
		got, ok := d.SplitVersions(text, sites)
		if !ok || got[0] != versions[0] || got[1] != versions[1] {
			t.Errorf("%s is read as %v, %v, want %v", text, got, ok, versions)
		}
		if v, several := versionAt(text, "b"); !several || v != versions[1] {
			t.Errorf("%s says %s of b", text, v)
		}
		if v, several := versionAt(text, "c"); !several || v != "" {
			t.Errorf("%s says %s of c", text, v)
		}
	}
	for _, text := range []string{"", "0", "12", "9", "904", "90400", d.Versions([]string{"a"}, []string{"1"}), d.Versions([]string{"b", "a"}, []string{"1", "2"}), before + "1"} {
		if got, ok := d.SplitVersions(text, sites); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if _, several := versionAt("9012345", "a"); several {
		t.Error("the version of one cluster is taken for one of several")
	}
}

func FuzzVersions(f *testing.F) {
	f.Add(Dialect{}.Versions([]string{"a"}, []string{"12"}))
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := Dialect{}.SplitVersions(text, []string{"a"})
		if !ok {
			return
		}
		if again, whole := (Dialect{}).SplitVersions(Dialect{}.Versions([]string{"a"}, v), []string{"a"}); !whole || again[0] != v[0] {
			t.Errorf("%s is %v, which is written otherwise", text, v)
		}
	})
}

func FuzzTakeEvent(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"kind":"Table","metadata":{},"columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["a"],"object":{"metadata":{"name":"a"}}}]}}`))
	f.Add([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if e, err := (Dialect{}).TakeEvent(line); err == nil && e.Failed == 0 && !json.Valid(e.Text("1", "a")) {
			t.Errorf("%s", e.Text("1", "a"))
		}
		if list, err := (Dialect{}).TakeList(line); err == nil && !json.Valid(list.Join(nil, "1", "a")) {
			t.Errorf("%s", line)
		}
	})
}

func TestInOne(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods": "/api/v1/namespaces/any/pods", "/apis/apps/v1/deployments": "/apis/apps/v1/namespaces/any/deployments",
		"/api/v1": "", "/apis/apps/v1": "", "/api/v1/namespaces/x/pods": "", "/logs": "", "/": "",
	} {
		if got, ok := (Dialect{}).InOne(path); got != want || ok != (want != "") {
			t.Errorf("%s: %s, %v", path, got, ok)
		}
	}
}

func TestEventsOfTables(t *testing.T) {
	e, err := Dialect{}.TakeEvent([]byte(`{"type":"MODIFIED","object":{"kind":"Table","metadata":{"resourceVersion":"5"},"columnDefinitions":[{"name":"Name"}],` +
		`"rows":[{"cells":["a"],"object":{"metadata":{"name":"a","namespace":"n","resourceVersion":"5"}}}]}}`))
	if err != nil || e.Name != "a" || e.Container != "n" || e.Version != "5" {
		t.Fatalf("%+v, %v", e, err)
	}
	got := string(e.Text("77", "paris"))
	if !strings.Contains(got, `"cells":["a","paris"]`) || strings.Count(got, `"resourceVersion":"77"`) != 2 || !strings.Contains(got, `"name":"Site"`) {
		t.Error(got)
	}
}

func TestConditions(t *testing.T) {
	const object = `{"metadata":{"uid":"u","resourceVersion":"20"}}`
	plain := http.Header{"Content-Type": {"application/json"}}
	protobuf := http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}
	several := func(a string) string { return Dialect{}.Versions([]string{"a", "b"}, []string{a, "3"}) }
	// runtime.Unknown{raw: ConfigMap{metadata: {name: x, resourceVersion: v}}}
	put := func(version string) string {
		meta := append([]byte{0x0a, 1, 'x', 0x32, byte(len(version))}, version...)
		raw := append([]byte{0x0a, byte(len(meta))}, meta...)
		return magic + string(append([]byte{0x12, byte(len(raw))}, raw...)) + "\x1a\x00"
	}
	// runtime.Unknown{raw: DeleteOptions{gracePeriodSeconds: 1, preconditions: {uid: u}}}
	options := magic + "\x12\x07\x08\x01\x12\x03\x0a\x01u"
	for _, c := range []struct {
		method     string
		header     http.Header
		body       string
		broken     string
		everywhere bool
		now        string
	}{
		{"PUT", plain, `{"metadata":{"resourceVersion":"` + several("20") + `"},"data":{}}`, "", false, `{"data":{},"metadata":{"resourceVersion":"20"}}`},
		{"PUT", plain, `{"metadata":{"resourceVersion":"` + several("100") + `"}}`, "", false, `{"metadata":{"resourceVersion":"20"}}`},
		{"PUT", plain, `{"metadata":{"resourceVersion":"` + several("19") + `"}}`, "modified", false, ""},
		{"PUT", plain, `{"metadata":{"resourceVersion":"` + several("") + `"}}`, "another site", false, ""},
		{"PUT", protobuf, put(several("20")), "", false, put("20")},
		{"PUT", protobuf, put(several("9")), "modified", false, ""},
		{"DELETE", plain, `{"preconditions":{"uid":"u","resourceVersion":"20"},"x":1}`, "", true, `{"x":1}`},
		{"DELETE", plain, `{"preconditions":{"uid":"other"}}`, "uid", true, ""},
		{"DELETE", plain, `{"preconditions":{"resourceVersion":"19"}}`, "resourceVersion", true, ""},
		{"DELETE", plain, `{"preconditions":{"resourceVersion":"` + several("25") + `"}}`, "", false, `{"preconditions":{"resourceVersion":"20"}}`},
		{"DELETE", protobuf, options, "", true, `{"apiVersion":"v1","gracePeriodSeconds":1,"kind":"DeleteOptions"}`},
	} {
		got, ok := Dialect{}.Condition(c.method, c.header, []byte(c.body), "a")
		if !ok {
			t.Errorf("%s %q has no condition", c.method, c.body)
			continue
		}
		if why := got.Broken([]byte(object)); !strings.Contains(why, c.broken) || (why == "") != (c.broken == "") {
			t.Errorf("%s %q: %q", c.method, c.body, why)
		}
		if now := got.Now([]byte(object), c.everywhere); c.now != "" && !bytes.Equal(now, []byte(c.now)) {
			t.Errorf("%s %q is sent as %q, want %q", c.method, c.body, now, c.now)
		}
	}
	for _, body := range []string{`{"metadata":{"resourceVersion":"20"}}`, `{}`, `no JSON`, magic} {
		for _, h := range []http.Header{plain, protobuf} {
			if _, ok := (Dialect{}).Condition("PUT", h, []byte(body), "a"); ok {
				t.Errorf("%q has a condition", body)
			}
		}
	}
	var _ glue.Gatherer = Dialect{}
}

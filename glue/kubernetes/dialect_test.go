package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

func TestRehearsal(t *testing.T) {
	protobuf, plain := http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}, http.Header{"Content-Type": {"application/json"}}
	for _, c := range []struct {
		query  string
		header http.Header
		body   string
		want   string
	}{
		{"", plain, `{"metadata":{"name":"a"}}`, ""},
		{"", plain, `no JSON`, ""}, // the application says so
		{"?fieldManager=kubectl", plain, `{"metadata":{"generateName":"a-"}}`, "fieldManager=kubectl&dryRun=All"},
		{"", protobuf, "k8s\x00", "dryRun=All"},
		{"", http.Header{"Content-Type": {"application/yaml"}}, "metadata: {name: a}", "dryRun=All"},
	} {
		got, ok := Dialect{}.Rehearsal(nil, c.query, c.header, []byte(c.body))
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%v %q: %q, %v, want %q", c.header, c.body, got, ok, c.want)
		}
	}
}

func TestDescribes(t *testing.T) {
	for path, want := range map[string]bool{
		"/api": true, "/api/v1": true, "/api/v1/pods": false, "/apis": true, "/apis/apps/v1": true, "/apis/apps/v1/deployments": false,
		"/openapi/v3/api/v1": true, "/version": true, "/logs": false, "/": false,
	} {
		if got := (Dialect{}).Describes(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestRehearses(t *testing.T) {
	protobuf := http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}
	// runtime.Unknown{typeMeta: {}, raw: DeleteOptions{gracePeriodSeconds: 1, dryRun: [All]}}
	dry := "k8s\x00\x0a\x00\x12\x07\x08\x01\x2a\x03All"
	for _, c := range []struct {
		method, query string
		header        http.Header
		body          string
		want          bool
	}{
		{"POST", "?dryRun=All&x=1", nil, "", true},
		{"POST", "?x=1", nil, "", false},
		{"DELETE", "", nil, `{"kind":"DeleteOptions","dryRun":["All"]}`, true},
		{"DELETE", "", nil, `{"kind":"DeleteOptions","dryRun":[]}`, false},
		{"DELETE", "", protobuf, dry, true},
		{"DELETE", "", protobuf, "k8s\x00\x0a\x00\x12\x02\x08\x01", false},
		{"PATCH", "", nil, `{"dryRun":["All"]}`, false},
	} {
		if got := (Dialect{}).Rehearses(c.method, c.query, c.header, []byte(c.body)); got != c.want {
			t.Errorf("%s %s %q: %v", c.method, c.query, c.body, got)
		}
	}
}

func TestOwn(t *testing.T) {
	k := &engine.Kind{Name: "pods"}
	leave(k)
	for patch, want := range map[string]bool{
		`[{"op":"replace","path":"/metadata/managedFields","value":[]},{"op":"replace","path":"/metadata/resourceVersion","value":"7"}]`: true,
		`[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"replace","path":"/metadata/labels/a","value":"b"}]`:        false,
		`[]`: false, `{"metadata":{"uid":"1"}}`: false, `[{"op":"remove","path":"/spec/volumes/kube-api-access-x1"}]`: true,
	} {
		if got := (Dialect{}).Own(k, []byte(patch)); got != want {
			t.Errorf("%s: %v", patch, got)
		}
	}
}

func TestForces(t *testing.T) {
	protobuf := http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}
	for _, c := range []struct {
		header http.Header
		body   string
		want   bool
	}{
		{nil, `{"kind":"DeleteOptions","gracePeriodSeconds":0}`, true},
		{nil, `{"kind":"DeleteOptions","gracePeriodSeconds":1}`, false},
		{nil, `{"kind":"DeleteOptions"}`, false},
		{nil, "", false},
		{protobuf, "k8s\x00\x0a\x00\x12\x02\x08\x00", true},
		{protobuf, "k8s\x00\x0a\x00\x12\x02\x08\x1e", false},
		{protobuf, "k8s\x00\x0a\x00\x12\x05\x2a\x03All", false},
		{protobuf, "k8s\x00\x0a\x00\x12\x01\x08", false},
	} {
		if got := (Dialect{}).Forces(c.header, []byte(c.body)); got != c.want {
			t.Errorf("%v %q: %v", c.header, c.body, got)
		}
	}
}

func TestNaming(t *testing.T) {
	protobuf := http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}
	for _, c := range []struct {
		header     http.Header
		body, want string
	}{
		{nil, `{"metadata":{"name":"web"}}`, `{"metadata":{"name":"web"}}`},
		{protobuf, "k8s\x00\x0a\x00\x12\x07\x0a\x05\x0a\x03web", `{"metadata":{"name":"web"}}`},
		{protobuf, "k8s\x00\x0a\x00\x12\x09\x0a\x05\x0a", `{"metadata":{"name":""}}`},
		{protobuf, "", `{"metadata":{"name":""}}`},
	} {
		if got := (Dialect{}).Naming(c.header, []byte(c.body)); string(got) != c.want {
			t.Errorf("%q: %s, want %s", c.body, got, c.want)
		}
	}
}

func TestFormer(t *testing.T) {
	for name, want := range map[string]string{
		"shop/sh.helm.release.v1.web.v10":     "shop/sh.helm.release.v1.web.v9",
		"shop/sh.helm.release.v1.web.v2.v2":   "shop/sh.helm.release.v1.web.v2.v1",
		"shop/sh.helm.release.v1.web.v1":      "",
		"shop/sh.helm.release.v1.web":         "",
		"sh.helm.release.v1.shop.v2/web":      "",
		"shop/web.v2":                         "",
		"sh.helm.release.v1.shop.v2/other.v3": "",
	} {
		if got := (Dialect{}).Former(name); got != want {
			t.Errorf("%s comes after %q, want %q", name, got, want)
		}
	}
}

func FuzzProtobuf(f *testing.F) {
	f.Add([]byte("k8s\x00\x0a\x00\x12\x07\x08\x01\x2a\x03All"))
	f.Add([]byte("k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(_ *testing.T, b []byte) { deletesDry(b); deletesAtOnce(b) })
}

func TestPortable(t *testing.T) {
	services, secrets := &engine.Kind{Name: "services"}, &engine.Kind{Name: "secrets"}
	leave(services)
	leave(secrets)
	for body, want := range map[string]string{
		`{"type":"kubernetes.io/service-account-token","data":{"token":"a"},"metadata":{"annotations":{"kubernetes.io/service-account.name":"x","kubernetes.io/service-account.uid":"1"}}}`: `{"metadata":{"annotations":{"kubernetes.io/service-account.name":"x"}},"type":"kubernetes.io/service-account-token"}`,
		`{"type":"Opaque","data":{"token":"a"}}`: `{"type":"Opaque","data":{"token":"a"}}`,
	} {
		if got := string(portable(secrets, []byte(body))); got != want {
			t.Errorf("%s became %s, want %s", body, got, want)
		}
	}
	k := services
	for body, want := range map[string]string{
		`{"spec":{"ports":[{"nodePort":30080,"port":80}]}}`:                                                                       `{"spec":{"ports":[{"nodePort":30080,"port":80}]}}`,
		`{"metadata":{"name":"a","uid":"1","ownerReferences":[{"uid":"2"}]},"spec":{"clusterIP":"10.0.0.1","n":1.0},"status":{}}`: `{"metadata":{"name":"a"},"spec":{"n":1.0}}`,
		`{"metadata":{"name":"a"},"spec":{"clusterIP":"None","clusterIPs":["None"]}}`:                                             `{"metadata":{"name":"a"},"spec":{"clusterIP":"None","clusterIPs":["None"]}}`,
		`no JSON`: `no JSON`,
	} {
		if got := string(portable(k, []byte(body))); got != want {
			t.Errorf("%s became %s, want %s", body, got, want)
		}
	}
}

func TestWhole(t *testing.T) {
	if got := (Dialect{}).Whole("limit=500&labelSelector=a%3Db&continue=abc"); got != "labelSelector=a%3Db" {
		t.Errorf("it is %q", got)
	}
}

func TestRefusal(t *testing.T) {
	_, body := Dialect{}.Refusal(409, "name-taken", "it is at nantes")
	var s struct {
		Kind, Status, Reason, Message string
		Code                          int
	}
	if err := json.Unmarshal(body, &s); err != nil || s.Kind != "Status" || s.Reason != "AlreadyExists" || s.Code != 409 || s.Message != "it is at nantes" {
		t.Errorf("%v: %s", err, body)
	}
}

func TestAccepted(t *testing.T) {
	if _, got := (Dialect{}).Accepted(engine.TypeCreate, []byte(`{"kind":"Pod"}`)); string(got) != `{"kind":"Pod"}` {
		t.Errorf("a create is answered with %s", got)
	}
	if _, got := (Dialect{}).Accepted(engine.TypeMerge, []byte(`{"spec":{}}`)); !strings.Contains(string(got), `"Success"`) {
		t.Errorf("a patch is answered with %s", got)
	}
}

const direct = `
apiVersion: v1
kind: Config
current-context: mine
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443", certificate-authority: ca.pem}}]
users: [{name: me, user: {tokenFile: secret}}, {name: other, user: {client-certificate: c.pem}}]
contexts: [{name: mine, context: {cluster: c, user: me, namespace: n}}, {name: o, context: {cluster: c, user: other}}]
`

func TestThrough(t *testing.T) {
	c, err := ParseKubeconfig([]byte(direct), "/home/me")
	if err != nil {
		t.Fatal(err)
	}
	through, token, err := c.Through("", "cluster", "https://127.0.0.1:9701/~scope/a", "paris.example", []byte("PEM"))
	if err != nil || !token {
		t.Fatal(token, err)
	}
	b, err := through.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"https://127.0.0.1:9701/~scope/a", "tokenFile: /home/me/secret", `namespace: "n"`, "certificate-authority-data: UEVN", "tls-server-name: paris.example"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("it lacks %s:\n%s", want, b)
		}
	}
	if strings.Contains(string(b), "10.0.0.1") || strings.Contains(string(b), "other") {
		t.Errorf("it names what goes past the agent:\n%s", b)
	}
	if _, token, err := c.Through("o", "cluster", "https://x", "", nil); err != nil || token {
		t.Errorf("a certificate is taken for a token: %v", err)
	}
	if _, _, err := c.Through("none", "cluster", "https://x", "", nil); err == nil {
		t.Error("there is no such context")
	}
}

// TestPortsOfNodesAreEachClustersOwn: a cluster gives a service ports of its nodes, whether its ports can be told apart by number or not.
func TestPortsOfNodesAreEachClustersOwn(t *testing.T) {
	k := &engine.Kind{Name: "services", Keys: []engine.Key{{At: "/spec/ports", Member: "port"}}}
	leave(k)
	for _, ports := range []string{`{"port":80,"nodePort":%d}`, `{"port":53,"protocol":"TCP","nodePort":%d},{"port":53,"protocol":"UDP","nodePort":1}`} {
		body := `{"spec":{"ports":[` + ports + `]}}`
		one, _ := tree.Comparable(k, fmt.Appendf(nil, body, 30001))
		two, _ := tree.Comparable(k, fmt.Appendf(nil, body, 30002))
		if string(one) != string(two) || strings.Contains(string(one), "nodePort") {
			t.Errorf("compared are %s and %s", one, two)
		}
	}
}

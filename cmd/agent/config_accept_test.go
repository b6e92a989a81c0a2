package agent

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/accept"
	"github.com/skerry/skerry/glue"
)

func TestConfigOfWhatIsAccepted(t *testing.T) {
	c, _, err := loadText(t, smallest+`
accept:
- {from: paris, kinds: [images/image, "images/*"], operations: [read, create], scopes: [sharing, cross], as: agent}
- {from: south, operations: []}
- {from: "*", kinds: ["*"]}
`)
	want := []accept.Rule{
		{From: "paris", Kinds: []accept.Kind{{Service: "images", Name: "image"}, {Service: "images", Name: "*"}}, Acts: []engine.Act{engine.ActRead, engine.ActCreate},
			Scopes: []engine.Collaboration{engine.Sharing, engine.Cross}, As: engine.AsAgent},
		{From: "south", Acts: []engine.Act{}},
		{From: "*", Kinds: []accept.Kind{{Service: "*", Name: "*"}}},
	}
	if err != nil || !reflect.DeepEqual(c.Accept, want) {
		t.Errorf("%+v, %v", c.Accept, err)
	}
	if c, _, err := loadText(t, smallest); err != nil || c.Accept != nil {
		t.Errorf("without the key: %v, %v", c.Accept, err)
	}
	if c, _, err := loadText(t, smallest+"accept: []\n"); err != nil || c.Accept == nil {
		t.Errorf("an empty list is none: %v, %v", c.Accept, err)
	}
}

// TestConfigOfWhatIsAcceptedWrongly wants all problems at once.
func TestConfigOfWhatIsAcceptedWrongly(t *testing.T) {
	_, _, err := loadText(t, smallest+`
accept:
- {kinds: [image]}
- {from: paris, operations: [write, read, read], scopes: [shared]}
- {from: paris, form: south, as: root}
- all
`)
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, want := range []string{`"from"`, `expected SERVICE/KIND`, `found "write"`, `"read" is listed twice`, `found "shared"`,
		`"form"`, `found "root"`, ":12:3: expected a mapping"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing says %q:\n%v", want, err)
		}
	}
}

func TestRulesAreOfKindsThatTheCatalogHas(t *testing.T) {
	catalog := &glue.Catalog{Application: "shelf", Services: map[engine.ServiceName]*glue.Service{
		"images":  {Kinds: []*engine.Kind{{Service: "images", Name: "image"}}},
		"cluster": {Glue: glue.GlueKubernetes},
	}}
	c, _, err := loadText(t, smallest+`
accept:
- {from: "*", kinds: [images/image, "images/*", "*/image", cluster/pods]}
- {from: "*", kinds: [image/image]}
- {from: "*", kinds: [images/imag]}
`)
	if err != nil {
		t.Fatal(err)
	}
	err = Check(c, catalog)
	if err == nil {
		t.Fatal("it is taken")
	}
	for want, not := range map[string]string{`has no service "image"`: "", `has no kind "imag" there`: "pods"} {
		if !strings.Contains(err.Error(), want) || not != "" && strings.Contains(err.Error(), not) {
			t.Errorf("nothing says %q, or something of %q:\n%v", want, not, err)
		}
	}
}

// TestRightsOfUsersNeedAnApplicationThatTakesThem refuses rules that no application there could follow.
func TestRightsOfUsersNeedAnApplicationThatTakesThem(t *testing.T) {
	for _, c := range []struct{ service, rule, glue, want string }{
		{"", "{from: paris, as: user}", "", `give it "user_header"`},
		{"", "{from: paris, as: user}", glue.GlueOpenStack, `give it "keystone"`},
		{", keystone: http://127.0.0.1:5000/v3", "{from: paris, as: user}", glue.GlueOpenStack, "the header X-Auth-Token"},
		{", keystone: http://127.0.0.1:5000/v3, credentials: {header: x-auth-token, value_file: skerry.yaml}", "{from: paris, as: user}", glue.GlueOpenStack, ""},
		{"", "{from: paris, as: user}", glue.GlueKubernetes, ""},
		{"", `{from: paris, kinds: ["*/image"], as: user}`, "", `give it "user_header"`},
		{"", "{from: paris, as: agent}", "", ""},
		{", user_header: {name: X-Remote-User}", "{from: paris, as: user}", "", ""},
	} {
		config, _, err := loadText(t, withKeys(c.service)+"accept: ["+c.rule+"]\n")
		if err != nil {
			t.Fatal(err)
		}
		catalog := &glue.Catalog{Application: "shelf", Services: map[engine.ServiceName]*glue.Service{
			"images": {Glue: c.glue, Kinds: []*engine.Kind{{Service: "images", Name: "image"}}}}}
		checkActing(config, catalog, func(_ place, format string, args ...any) { err = fmt.Errorf(format, args...) })
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in front of %q: %v", c.rule, c.glue, err)
		}
	}
	for _, address := range []string{"127.0.0.1:5000", "http://127.0.0.1:5000", "ftp://127.0.0.1/v3", "http://127.0.0.1/v3?x", "http://u:p@127.0.0.1/v3"} {
		if _, _, err := loadText(t, withKeys(fmt.Sprintf(", keystone: %q", address))); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
	for _, name := range []string{"Authorization", "X-Forwarded-User", "X-Who", "no name"} {
		if _, _, err := loadText(t, withKeys(fmt.Sprintf(", user_header: {name: %q}", name))); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// withKeys is the smallest configuration with more keys for its service.
func withKeys(keys string) string { return strings.Replace(smallest, `9801"}`, `9801"`+keys+"}", 1) }

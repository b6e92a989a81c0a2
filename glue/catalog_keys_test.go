package glue

import (
	"reflect"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

const catalogOfDisks = `application: lab
services:
  servers:
    kinds:
      server:
        collection: /servers
        item: /servers/{id}
        id: {from: body, at: /meta/id}
`

func TestCatalogNamesTheKeysOfArrays(t *testing.T) {
	c, err := ParseCatalog("c.yaml", []byte(catalogOfDisks+`
        keys: [{at: /disks, key: name}, {at: /disks/*/parts, key: "n"}]
        ignore: [/disks/*/serial]
        sensitive: [/disks/*/parts/*/password]
`))
	if err != nil {
		t.Fatal(err)
	}
	k := c.Kind("servers", "server")
	if want := []engine.Key{{At: "/disks", Member: "name"}, {At: "/disks/*/parts", Member: "n"}}; !reflect.DeepEqual(k.Keys, want) {
		t.Errorf("the keys are %v, want %v", k.Keys, want)
	}
	if !k.Ignored("/disks/sda/serial") || k.Ignored("/disks/sda/size") || !k.Hides("/disks/sda/parts/1/password") {
		t.Errorf("ignored are %v, sensitive %v", k.Ignore, k.Sensitive)
	}
}

func TestCatalogRefusesKeysThatMakeNoSense(t *testing.T) {
	for text, want := range map[string]string{
		`keys: [{at: /disks}]`:                                                `no key "key"`,
		`keys: [{at: "", key: name}]`:                                         `a JSON pointer to an array inside`,
		`keys: [{at: disks, key: name}]`:                                      `does not begin with a slash`,
		`keys: [{at: /a, key: x}, {at: /a, key: y}]`:                          `the array "/a" has a key already`,
		`keys: [{at: /disks/*/parts, key: n}]`:                                `"/disks/*/parts" is inside the array "/disks", which has no key`,
		`keys: [{at: /meta, key: id}]`:                                        `"/meta" has to do with the identifier`,
		`ignore: [/disks/*/serial]`:                                           `* stands for the elements of an array that "keys" names, and "/disks" is none`,
		"keys: [{at: /users, key: mail}]\n        sensitive: [/users/*/mail]": `the key /users/*/mail is sensitive`,
		"keys: [{at: /users, key: mail}]\n        sensitive: [/users]":        `the key /users/*/mail is sensitive`,
	} {
		_, err := ParseCatalog("c.yaml", []byte(catalogOfDisks+"        "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to contain %q", text, err, want)
		}
	}
}

func TestCatalogRefusesLinksAndMarkersThatMakeNoSense(t *testing.T) {
	for text, want := range map[string]string{
		`links: [{at: /self}, {at: /self}]`:         `there is a link at "/self" already`,
		`links: [{at: /self, to: server}]`:          `there is no service "server"; did you mean "servers"?`,
		`links: [{at: ""}]`:                         `a JSON pointer to a URL or a path`,
		`marker: ""`:                                `a JSON pointer to a text field`,
		`marker: /meta/id`:                          `"/meta/id" is the identifier`,
		"marker: /text\n        ignore: [/text]":    `"/text" is ignored or sensitive`,
		"marker: /text\n        sensitive: [/text]": `"/text" is ignored or sensitive`,
		`list: {items: /a, next: /b, page: p}`:      `"next" and "page"`,
		`list: {watch: "a b"}`:                      `"a b" is not the plain name of a parameter`,
		`list: {deletes: always}`:                   `expected true or false`,
		`list: {items: /a, page: "p&q"}`:            `"p&q" is not the plain name of a parameter`,
	} {
		_, err := ParseCatalog("c.yaml", []byte(catalogOfDisks+"        "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to contain %q", text, err, want)
		}
	}
	_, err := ParseCatalog("c.yaml", []byte(strings.Replace(catalogOfDisks, "from: body", "from: path", 1)+"        marker: /text\n"))
	if err == nil || !strings.Contains(err.Error(), "clients choose the identifier") {
		t.Errorf("a marker of a kind whose identifiers clients choose: %v", err)
	}
}

package glue

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

const habits = `application: harbour
services:
  boats:
    headers: [X-Tenant, X-Harbour-*]
    kinds:
      boat:
        collection: /boats
        item: /boats/{id}
        id: {from: body, at: /data/id}
        label: /data/attributes/name
        list: %s
        correct: merge-patch
        patch-type: application/vnd.api+json
        settles: {at: /data/attributes/state, in: [AFLOAT, 7]}
        operations:
          - {name: start, match: "POST /boats/{id}/action", body: {at: /start}}
          - {name: slow, match: "POST /boats/{id}/action", body: {at: /speed, has: 1}}
          - {name: fast, match: "POST /boats/{id}/action", body: {at: /speed, has: 2}}
`

// harbourIDs have one boat that all sites call meta.
var harbourIDs = table{"boats.boat/meta": "3"}

func harbour(t *testing.T, list string) *Catalog {
	t.Helper()
	c, err := ParseCatalog("habits.yaml", fmt.Appendf(nil, habits, list))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalogOfHabits(t *testing.T) {
	c := harbour(t, "{items: /data, each: /data, next-header: X-Next, parameter: from}")
	k := c.Kind("boats", "boat")
	if list := c.List(k); *list != (List{Items: "/data", Each: "/data", NextHeader: "X-Next", Parameter: "from"}) {
		t.Errorf("the list is %+v", list)
	}
	if k.MergeType != "application/vnd.api+json" || !k.MergePatch || k.Settles == nil || k.Settles.At != "/data/attributes/state" ||
		fmt.Sprintf("%s", k.Settles.In) != `["AFLOAT" 7]` || !slices.Equal(k.Headers, []string{"X-Tenant", "X-Harbour-*"}) {
		t.Errorf("the kind is %+v", k)
	}
	m, _ := NewRouter(c.Services["boats"].Kinds).Match("PATCH", "/boats/7", http.Header{"Content-Type": {"application/vnd.api+json"}})
	if m.Type != engine.TypeMerge {
		t.Errorf("a patch of its own media type is a %q", m.Type)
	}
	for list, want := range map[string]string{
		"{next: /next, offset: from}":        "excl",
		"{parameter: from}":                  `say one of these too`,
		"{next-header: 'a b', parameter: x}": "is no name of a header",
	} {
		if _, err := ParseCatalog("x", fmt.Appendf(nil, habits, list)); err == nil || want != "excl" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", list, err)
		}
	}
	for from, to := range map[string]string{
		"application/vnd.api+json": "text/plain", "correct: merge-patch": "correct: put", "has: 2": "has: 1", "body: {at: /start}": "body: {at: start}",
	} {
		text := strings.Replace(fmt.Sprintf(habits, "{}"), from, to, 1)
		if _, err := ParseCatalog("x", []byte(text)); err == nil {
			t.Errorf("%s in the place of %s is taken", to, from)
		}
	}
}

// TestListsGoOn reads lists of every sort to their end, in envelopes as well.
func TestListsGoOn(t *testing.T) {
	for style, list := range map[string]string{
		"offset": "{items: /data, each: /data, offset: from}",
		"cursor": "{items: /data, each: /data, next: /next, parameter: from}",
		"number": "{items: /data, each: /data, next: /next, parameter: from}",
		"header": "{items: /data, each: /data, next-header: X-Next, parameter: from}",
		"link":   "{items: /data, each: /data, next-header: X-Next}",
	} {
		address, asked := application(t, func(w http.ResponseWriter, r *http.Request) {
			from, _ := strconv.Atoi(r.URL.Query().Get("from"))
			each := []any{}
			for i := from; i < min(from+2, 5); i++ {
				each = append(each, map[string]any{"id": strconv.Itoa(i), "attributes": map[string]any{"name": "x"}})
			}
			page := map[string]any{"data": each, "next": nil}
			if next := from + 2; next < 5 {
				switch style {
				case "cursor":
					page["next"] = strconv.Itoa(next)
				case "number":
					page["next"] = next
				case "header":
					w.Header().Set("X-Next", strconv.Itoa(next))
				case "link":
					w.Header().Set("X-Next", "/boats?color=red&from="+strconv.Itoa(next))
				}
			}
			w.Header().Set("Content-Type", "application/vnd.api+json")
			_ = json.NewEncoder(w).Encode(page)
		})
		c := harbour(t, list)
		up, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := NewClient(ClientConfig{List: c.List, Upstreams: []Upstream{{Service: "boats", URL: up, Kinds: c.Services["boats"].Kinds}}})
		if err != nil {
			t.Fatal(err)
		}
		client.Use(harbourIDs)
		k := client.Kind("boats", "boat")
		items, err := client.Listed(t.Context(), k, "", "color=red", nil)
		if err != nil {
			t.Fatalf("%s: %v", style, err)
		}
		var ids []string
		for _, i := range items {
			ids = append(ids, i.ID)
		}
		if want := []string{"0", "1", "2", "meta", "4"}; !slices.Equal(ids, want) || !strings.Contains(string(items[3].Text), `"id":"meta"`) {
			t.Errorf("%s: it lists %q, %s", style, ids, items[min(3, len(items)-1)].Text)
		}
		for _, a := range *asked {
			if !strings.Contains(a.uri, "color=red") {
				t.Errorf("%s: it asks for %s", style, a.uri)
			}
		}
		each, err := client.Items(k, []byte(`{"data":[{"id":"1"}]}`))
		if err != nil || len(each) != 1 || string(each[0]) != `{"data":{"id":"1"}}` {
			t.Errorf("an element of a list is the representation %s, %v", each, err)
		}
	}
}

// TestPartialPut: where the catalog says that patches come with PUT, one changes what it names; elsewhere a PUT has all of what it replaces.
func TestPartialPut(t *testing.T) {
	read := func(rules string) (*Catalog, error) {
		return ParseCatalog("partial.yaml", fmt.Appendf(nil, `application: harbour
services:
  boats:
    kinds:
      boat: {collection: /boats, item: "/boats/{id}", %s}
`, rules))
	}
	json := http.Header{"Content-Type": {"application/json"}}
	for rules, want := range map[string]engine.Type{
		"id: {from: body, at: /id}, correct: merge-patch, patch-method: PUT":                 engine.TypeMerge,
		"id: {from: body, at: /id, settable: true}, correct: merge-patch, patch-method: PUT": engine.TypeMerge,
		"id: {from: body, at: /id}, correct: merge-patch, patch-method: PATCH":               engine.TypeReplace,
		"id: {from: body, at: /id}, correct: merge-patch":                                    engine.TypeReplace,
	} {
		c, err := read(rules)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRouter(c.Services["boats"].Kinds)
		if m, _ := r.Match("PUT", "/boats/7", json); m.Type != want {
			t.Errorf("with %s a PUT is a %q, want %q", rules, m.Type, want)
		}
		if m, _ := r.Match("PUT", "/boats/7/picture", json); m.Type != engine.TypeAbsolute {
			t.Errorf("with %s a PUT below the item is a %q", rules, m.Type)
		}
		if k := c.Kind("boats", "boat"); want == engine.TypeMerge && k.MergeType != "application/json" {
			t.Errorf("with %s patches are %q", rules, k.MergeType)
		}
	}
	for rules, want := range map[string]string{
		"id: {from: body, at: /id}, patch-method: PUT":                        "merge patches",
		"id: {from: path}, correct: merge-patch, patch-method: PUT":           "clients choose",
		"id: {from: body, at: /id}, correct: merge-patch, patch-method: POST": "expected",
	} {
		if _, err := read(rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %s: %v, want it to say %q", rules, err, want)
		}
	}
}

package trial

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	siteagent "github.com/skerry/skerry/cmd/agent"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// boats is an application with one kind, that does what its catalog says but for one habit.
type boats struct {
	habit string
	mu    sync.Mutex // guards what follows
	made  int
	all   map[string]map[string]any
	// dying are the boats that are deleted and still shown, with how often.
	dying map[string]int
	reads int
}

func (b *boats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/boats"), "/")
	var body map[string]any
	if text, _ := io.ReadAll(r.Body); len(text) > 0 {
		_ = json.Unmarshal(text, &body) // what is no object makes none
	}
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch {
	case r.Method == "POST" && b.habit == "refuses":
		answer(422, map[string]any{"message": "a boat needs a keel"})
	case r.Method == "POST":
		b.made++
		id = fmt.Sprint("b", b.made)
		body["id"] = id
		b.change(body)
		b.all[id] = body
		if b.habit == "located" {
			w.Header().Set("Location", "/boats/"+id)
		}
		answer(201, b.shown(id))
	case r.Method == "GET" && id == "":
		list := []any{}
		for name := range b.all {
			if b.habit != "lists nothing" {
				list = append(list, b.shown(name))
			}
		}
		if b.habit == "two lists" {
			answer(200, map[string]any{"boats": list, "more": list})
			return
		}
		answer(200, map[string]any{"boats": list})
	case strings.HasSuffix(id, "/sail") && b.habit == "wants more":
		answer(400, map[string]any{"message": "a sail needs a mast"})
	case b.all[id] == nil:
		answer(404, map[string]any{})
	case r.Method == "GET":
		b.reads++
		answer(200, b.shown(id))
		if b.dying[id] > 0 {
			if b.dying[id]--; b.dying[id] == 0 {
				delete(b.all, id)
			}
		}
	case r.Method == "PUT" && b.habit == "cannot be put":
		answer(405, map[string]any{})
	case r.Method == "PUT":
		body["id"] = id
		if b.habit == "drops" {
			delete(body, "crew")
		}
		if b.habit != "keeps its name" {
			b.change(body)
			b.all[id] = body
		}
		answer(200, b.shown(id))
	case r.Method == "DELETE" && b.habit == "stays":
		answer(204, nil)
	case r.Method == "DELETE" && b.habit == "lingers":
		b.dying[id] = 3
		answer(202, nil)
	default:
		delete(b.all, id)
		answer(204, nil)
	}
}

// change is what the application adds to what it is told.
func (b *boats) change(body map[string]any) {
	switch b.habit {
	case "stamps":
		b.made++
		body["stamp"] = b.made
	case "numbers":
		if body["number"] == nil {
			body["number"] = b.made
		}
	case "drops":
		if b.all[body["id"].(string)] == nil {
			body["crew"] = 3
		}
	case "links":
		body["self"] = "http://here/boats/" + body["id"].(string)
	}
}

// shown is what a boat looks like.
func (b *boats) shown(id string) map[string]any {
	look := map[string]any{}
	for name, v := range b.all[id] {
		look[name] = v
	}
	switch b.habit {
	case "uuid", "located":
		look["uuid"] = look["id"]
		delete(look, "id")
	case "ticks":
		look["tick"] = b.reads
	}
	return look
}

const catalog = `application: shop
services:
  boats:
    kinds:
      boat:
        collection: /boats
        item: /boats/{id}
        id: {from: body, at: /id}
`

// tried is a report of a trial of boats with a habit, and what it leaves there.
func tried(t *testing.T, habit, text string, bodies map[string]json.RawMessage) (Report, *boats) {
	t.Helper()
	b := &boats{habit: habit, all: map[string]map[string]any{}, dying: map[string]int{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	c, err := glue.ParseCatalog("catalog", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	client, err := siteagent.NewClient(siteagent.Config{Services: map[engine.ServiceName]siteagent.Service{"boats": {Upstream: server.URL}}}, c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	n := 0
	trial := Trial{Catalog: c, Client: client, Kinds: c.Services["boats"].Kinds, Bodies: bodies, Patience: 20 * time.Millisecond, Name: func() string {
		n++
		return fmt.Sprint("skerry-try-", n)
	}}
	if habit == "lingers" {
		trial.Patience = time.Minute // it ends before
	}
	return trial.Run(t.Context()), b
}

func TestHabits(t *testing.T) {
	for habit, want := range map[string]struct{ seen, say string }{
		"":               {},
		"uuid":           {"no identifier at /id; it has one at /uuid", "id: {from: body, at: /uuid}"},
		"located":        {"not at /id but at /uuid", "id: {from: body, at: /uuid}"},
		"stamps":         {"/stamp changed with a write of something else", "ignore: [/stamp]"},
		"numbers":        {"two objects made alike differ in /number", "ignore: [/number]"},
		"ticks":          {"/tick changed by themselves between two reads", "ignore: [/tick]"},
		"links":          {"/self has the object's own address", "links: [{at: /self}]"},
		"drops":          {"PUT /boats/{id} drops /crew", ""},
		"cannot be put":  {`with "correct: put" a difference cannot be mended: PUT /boats/{id} is refused: 405`, ""},
		"keeps its name": {"was answered with success, and /name is as before", ""},
		"two lists":      {"GET /boats has no list where the catalog says", "list: {items: /…}"},
		"lists nothing":  {"the list at /boats has 0 items, and not what was made", ""},
		"stays":          {"what was deleted is still shown after 20ms", ""},
	} {
		r, left := tried(t, habit, catalog, nil)
		if want.seen == "" {
			if len(r.Findings) > 0 || !r.True() || !slices.Equal(r.Tried, []string{"boats/boat"}) {
				t.Errorf("of a true catalog it tells %+v", r)
			}
		} else if r.True() || !slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Untrue && f.Kind == "boats/boat" && strings.Contains(f.Seen, want.seen) && f.Say == want.say
		}) {
			t.Errorf("%s: it tells %+v", habit, r)
		}
		if habit != "stays" && (len(left.all) > 0 || len(r.Left) > 0) {
			t.Errorf("%s: it leaves %v, and tells of %v", habit, left.all, r.Left)
		}
		if habit == "stays" && !slices.Equal(r.Left, []string{"boats /boats/b2", "boats /boats/b1"}) {
			t.Errorf("what stays is told as %v", r.Left)
		}
	}
}

// TestLingering: an application that takes its time to delete is no untrue catalog.
func TestLingering(t *testing.T) {
	r, left := tried(t, "lingers", catalog, nil)
	if !r.True() || len(r.Findings) != 2 || !strings.Contains(r.Findings[0].Seen, "lingers") || len(left.all) > 0 {
		t.Errorf("it tells %+v and leaves %v", r, left.all)
	}
}

// TestRefusedCreate: what a person can do about it is told, and no claim is made.
func TestRefusedCreate(t *testing.T) {
	r, _ := tried(t, "refuses", catalog, nil)
	if !r.True() || len(r.Tried) > 0 || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Seen, "--body boats/boat=FILE: 422") || !strings.Contains(r.Findings[0].Seen, "needs a keel") {
		t.Errorf("it tells %+v", r)
	}
}

// TestRefusedContent: an application may want more of an object before it takes its content; one that has no such place makes the catalog untrue.
func TestRefusedContent(t *testing.T) {
	text := catalog + "        content: [{read: \"GET /boats/{id}/sail\", write: \"PUT /boats/{id}/sail\"}]\n"
	if r, _ := tried(t, "wants more", text, nil); !r.True() || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Seen, "--body boats/boat=FILE: 400") || !strings.Contains(r.Findings[0].Seen, "needs a mast") {
		t.Errorf("it tells %+v", r)
	}
	if r, _ := tried(t, "", text, nil); r.True() || !strings.Contains(r.Findings[0].Seen, "PUT /boats/{id}/sail takes no bytes: 404") {
		t.Errorf("where it has no such place it tells %+v", r)
	}
}

// TestBodies: a body that was given gets a name of its own, so that nothing of the application's is touched.
func TestBodies(t *testing.T) {
	body := (&run{Trial: &Trial{Catalog: &glue.Catalog{}, Bodies: map[string]json.RawMessage{"boats/boat": json.RawMessage(`{"name":"mine","keel":{"deep":true}}`)}}}).
		body(&engine.Kind{Service: "boats", Name: "boat", Label: "/name"}, "skerry-try-1")
	if string(body) != `{"keel":{"deep":true},"name":"skerry-try-1"}` {
		t.Errorf("the body is %s", body)
	}
	at := Body(&engine.Kind{Label: "/url"}, []byte(`{"url":"http://127.0.0.1:9/x"}`), "skerry-try-1", nil)
	if string(at) != `{"url":"http://127.0.0.1:9/x/skerry-try-1"}` {
		t.Errorf("an address becomes %s", at)
	}
}

// TestMendedCatalog: what it says to say is true then.
func TestMendedCatalog(t *testing.T) {
	for habit, say := range map[string]string{"stamps": "ignore: [/stamp]", "numbers": "ignore: [/number]", "ticks": "ignore: [/tick]", "links": "links: [{at: /self}]"} {
		if r, _ := tried(t, habit, catalog+"        "+say+"\n", nil); !r.True() || len(r.Findings) > 0 {
			t.Errorf("%s: with %s it tells %+v", habit, say, r)
		}
	}
}

// TestOrderOfACircle: a volume may be made of a snapshot, and a snapshot requires a volume: that is made first.
func TestOrderOfACircle(t *testing.T) {
	c, err := glue.ParseCatalog("circle.yaml", []byte(`application: harbour
services:
  boats:
    kinds:
      boat:
        {collection: /boats, item: "/boats/{id}", id: {from: body, at: /id}, refs: [{at: /model, to: boats.model, relation: reliance}]}
      model:
        {collection: /models, item: "/models/{id}", id: {from: body, at: /id}, refs: [{at: /first, to: boats.boat, relation: requirement}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	kinds := c.Services["boats"].Kinds
	if got := Order(c, kinds); len(got) != 2 || got[0].Name != "boat" {
		t.Errorf("the first of %d is %s", len(got), got[0].Name)
	}
}

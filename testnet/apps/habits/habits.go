package habits

import (
	crypto "crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Habits say how an instance behaves. The zero value is an ordinary one: JSON, UUIDs, PUT, merge patches, one list.
type Habits struct {
	// Collection is the name of the collection, Item what one is called.
	Collection, Item string
	// IDs are "" (UUIDs), "integers", "slugs" made of the name, "composed" ones of a kind and a number, or "chosen" by clients with a PUT.
	IDs string
	// Envelope is what stands around representations: "" (nothing), "plain" around lists alone, "jsonapi", "hal", "named", which is the item's name,
	// or "answers", which is around what is shown alone.
	Envelope string
	// Media is that of bodies: "" (JSON), "form" or "xml". Forms are answered in JSON, XML as it came.
	Media string
	// Partial has a PUT change what it names and leave the rest; one that names the identifier is refused (400).
	Partial bool
	// Quiet answers without a body: 201 with Location alone, and 204.
	Quiet bool
	// Pages is how a list goes on: "" (it does not), "link", "header", "offset", "cursor" or "next", an address in the body.
	Pages string
	// Guarded asks for If-Match with every change (428), as its ETags say.
	Guarded bool
	// Unique refuses a name that another one has (409).
	Unique bool
	// Tenant is a header without which nothing is made, changed or deleted (400).
	Tenant string
	// Builds makes what is new BUILD until it has been read a few times; until then it takes no change (409).
	Builds bool
	// Actions takes POST …/action, with what is to be done in the body.
	Actions bool
	// Late is how long what is new is not shown at the most, nor found by any request: a create is answered 202 then.
	Late time.Duration
	// Lingers is how long what is deleted is still there at the most, DELETING, and takes no change (409): a delete is answered 202 then.
	Lingers time.Duration
	// Counts takes POST …/incr, which adds one to count, and POST …/roll, which does so to rolls, which clients cannot set.
	Counts bool
	// Within is the name of the collection whose items hold this one; empty: none does.
	Within string
	// Only are the methods on an item that it takes, beside GET and DELETE.
	Only []string
}

// building is how often something new is read until it is there.
const building = 3

// perPage is how many items a page has.
const perPage = 3

// App is a running instance, in memory.
type App struct {
	Habits
	mu    sync.Mutex // guards what follows
	made  int
	items map[string]*item
	order []string
}

type item struct {
	fields   map[string]any
	opaque   []byte // of XML
	within   string
	reads    int
	revision int
	shown    time.Time // from when on there is anything to see
	goes     time.Time // when it is gone; zero: it stays
}

// New returns an empty instance.
func New(h Habits) *App {
	if h.Only == nil {
		h.Only = []string{"PUT", "PATCH"}
	}
	return &App{Habits: h, items: map[string]*item{}}
}

// ServeHTTP serves the collection, and where there is one that of what it lies in.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return // the client has gone
	}
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	x := &exchange{app: a, w: w, r: r, body: body}
	if a.Within != "" && segments[0] == a.Within && len(segments) > 2 {
		if a.items[segments[1]] == nil {
			x.refuse(404, "there is no "+segments[1])
			return
		}
		x.within, segments = segments[1], segments[2:]
	}
	if x.changes() && a.Tenant != "" && r.Header.Get(a.Tenant) == "" {
		x.refuse(400, "say who you are with "+a.Tenant)
		return
	}
	switch {
	case segments[0] == a.Collection && (x.within != "" || a.Within == ""), segments[0] == a.Within && x.within == "":
		x.collection = segments[0]
	default:
		x.refuse(404, "there is nothing here")
		return
	}
	switch len(segments) {
	case 1:
		x.all()
	case 2:
		x.one(segments[1])
	case 3:
		x.act(segments[1], segments[2])
	default:
		x.refuse(404, "there is nothing here")
	}
}

// exchange is one request under way.
type exchange struct {
	app                *App
	w                  http.ResponseWriter
	r                  *http.Request
	body               []byte
	within, collection string
}

func (x *exchange) changes() bool {
	return x.r.Method != http.MethodGet && x.r.Method != http.MethodHead
}

func (x *exchange) refuse(status int, why string) { x.answer(status, map[string]any{"error": why}) }

func (x *exchange) answer(status int, v any) {
	media := "application/json"
	if x.app.Envelope == "jsonapi" {
		media = "application/vnd.api+json"
	}
	x.w.Header().Set("Content-Type", media)
	x.w.WriteHeader(status)
	_ = json.NewEncoder(x.w).Encode(v) // a client that has gone is no concern of ours
}

// all serves the collection.
func (x *exchange) all() {
	switch x.r.Method {
	case http.MethodGet:
		x.list()
	case http.MethodPost:
		if x.app.IDs != "chosen" {
			x.create("")
			return
		}
		x.refuse(405, "choose a name, and PUT it")
	case http.MethodDelete:
		for _, id := range slices.Clone(x.ids()) {
			x.app.remove(id)
		}
		x.w.WriteHeader(204)
	default:
		x.refuse(405, "not so")
	}
}

// found is the item of a key, nil where there is none or none is shown yet.
func (a *App) found(key string) *item {
	i := a.items[key]
	if i != nil && !i.goes.IsZero() && !time.Now().Before(i.goes) {
		a.remove(key)
		return nil
	}
	if i == nil || time.Now().Before(i.shown) {
		return nil
	}
	return i
}

// ids are those of the items of the collection, in the order in which they were made.
func (x *exchange) ids() (ids []string) {
	for _, id := range slices.Clone(x.app.order) {
		if i := x.app.found(id); i != nil && i.within == x.within+"/"+x.collection {
			ids = append(ids, id)
		}
	}
	return ids
}

// key is how an item is kept: identifiers are given once in a collection.
func (x *exchange) key(id string) string {
	if x.within == "" {
		return id
	}
	return x.within + "/" + id
}

func (x *exchange) list() {
	ids := x.ids()
	from, next := 0, ""
	if x.app.Pages != "" {
		parameter := map[string]string{"link": "page", "next": "page", "header": "page", "offset": "offset", "cursor": "cursor"}[x.app.Pages]
		from, _ = strconv.Atoi(strings.TrimPrefix(x.r.URL.Query().Get(parameter), "c"))
		if from+perPage < len(ids) {
			next = strconv.Itoa(from + perPage)
		}
		ids = ids[min(from, len(ids)):min(from+perPage, len(ids))]
	}
	each := []any{}
	for _, id := range ids {
		each = append(each, x.bare(id))
	}
	address := x.r.URL.Path + "?page=" + next
	switch {
	case next == "":
	case x.app.Pages == "link":
		x.w.Header().Set("Link", "<"+address+`>; rel="next"`)
	case x.app.Pages == "header":
		x.w.Header().Set("X-Next-Page", next)
	}
	page := map[string]any{}
	switch x.app.Envelope {
	case "jsonapi":
		page["data"], page["links"] = each, map[string]any{"next": or(next, address)}
	case "answers":
		page["data"] = each
	case "hal":
		page["_embedded"], page["_links"] = map[string]any{x.collection: each}, map[string]any{}
		if next != "" {
			page["_links"] = map[string]any{"next": map[string]any{"href": address}}
		}
	default:
		if x.app.Pages != "offset" && x.app.Pages != "cursor" && x.app.Envelope == "" {
			x.answer(200, each)
			return
		}
		page[x.collection], page["total"] = each, len(x.ids())
		if x.app.Pages == "cursor" {
			page["next_cursor"] = or(next, "c"+next)
		}
	}
	x.answer(200, page)
}

// or is nil where next is empty.
func or(next, v string) any {
	if next == "" {
		return nil
	}
	return v
}

// create makes an item, under id unless that is empty.
func (x *exchange) create(id string) {
	fields, ok := x.fields()
	if !ok {
		return
	}
	if x.app.Unique && x.taken(fields["name"], "") {
		x.refuse(409, "that name is taken")
		return
	}
	x.app.made++
	chosen := id != ""
	if !chosen {
		id = x.app.newID(fields)
	}
	if x.app.items[x.key(id)] != nil {
		x.refuse(409, id+" is there already")
		return
	}
	status := map[bool]int{true: 200, false: 201}[chosen]
	if x.app.Builds {
		fields["status"] = "BUILD"
	}
	if x.app.Actions {
		fields["power"] = "off"
	}
	i := &item{fields: fields, within: x.within + "/" + x.collection, revision: 1}
	if x.app.Late > 0 {
		i.shown, status = time.Now().Add(x.app.Late/8+rand.N(x.app.Late*7/8)), 202
	}
	if x.app.Counts {
		fields["rolls"] = json.Number("0")
		if fields["count"] == nil {
			fields["count"] = json.Number("0")
		}
	}
	if x.app.Media == "xml" {
		i.opaque = x.body
	}
	x.app.items[x.key(id)] = i
	x.app.order = append(slices.DeleteFunc(x.app.order, func(o string) bool { return o == x.key(id) }), x.key(id))
	x.w.Header().Set("Location", x.r.URL.Path+map[bool]string{false: "/" + id}[chosen])
	x.show(status, x.key(id))
}

// newID is an identifier that the application assigns.
func (a *App) newID(fields map[string]any) string {
	switch a.IDs {
	case "integers":
		return strconv.Itoa(a.made)
	case "slugs":
		return strings.ToLower(strings.ReplaceAll(fmt.Sprint(fields["name"]), " ", "-"))
	case "composed":
		return fmt.Sprintf("%s:%d", a.Item, a.made)
	}
	return crypto.Text()
}

func (x *exchange) taken(name any, but string) bool {
	for _, id := range x.ids() {
		if id != but && x.app.items[id].fields["name"] == name {
			return true
		}
	}
	return false
}

// fields reads a body; ok is false where it has answered already.
func (x *exchange) fields() (fields map[string]any, ok bool) {
	media, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	switch {
	case x.app.Media == "xml":
		if !strings.HasSuffix(media, "xml") {
			x.refuse(415, "XML alone")
			return nil, false
		}
		return map[string]any{}, true
	case x.app.Media == "form":
		values, err := url.ParseQuery(string(x.body))
		if media != "application/x-www-form-urlencoded" || err != nil {
			x.refuse(415, "forms alone")
			return nil, false
		}
		fields = map[string]any{}
		for name := range values {
			fields[name] = values.Get(name)
		}
		return fields, true
	case x.app.Envelope == "jsonapi" && media != "application/vnd.api+json":
		x.refuse(415, "application/vnd.api+json alone")
		return nil, false
	}
	var body map[string]any
	d := json.NewDecoder(strings.NewReader(string(x.body)))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		x.refuse(400, "no object: "+err.Error())
		return nil, false
	}
	return x.unwrapped(body), true
}

// unwrapped takes the fields out of their envelope.
func (x *exchange) unwrapped(body map[string]any) map[string]any {
	inner := body
	switch x.app.Envelope {
	case "jsonapi":
		data, _ := body["data"].(map[string]any)
		inner, _ = data["attributes"].(map[string]any)
	case "named":
		inner, _ = body[x.app.Item].(map[string]any)
	}
	fields := maps.Clone(inner)
	if fields == nil {
		fields = map[string]any{}
	}
	for _, own := range []string{"id", "_links"} {
		delete(fields, own)
	}
	return fields
}

// bare is what a list shows of an item, and an answer in an envelope.
func (x *exchange) bare(key string) any {
	i := x.app.items[key]
	id := key[strings.LastIndexByte(key, '/')+1:]
	fields := maps.Clone(i.fields)
	var shown any = id
	if x.app.IDs == "integers" && x.app.Envelope != "jsonapi" {
		shown = json.Number(id)
	}
	switch x.app.Envelope {
	case "jsonapi":
		return map[string]any{"type": x.collection, "id": shown, "attributes": fields}
	case "hal":
		fields["_links"] = map[string]any{"self": map[string]any{"href": strings.TrimSuffix(x.root(), "/") + "/" + id}}
	}
	fields["id"] = shown
	return fields
}

// root is the path of the collection.
func (x *exchange) root() string {
	if x.within != "" {
		return "/" + x.app.Within + "/" + x.within + "/" + x.collection
	}
	return "/" + x.collection
}

// show answers with an item, or without one where the application is quiet.
func (x *exchange) show(status int, key string) {
	i := x.app.items[key]
	x.w.Header().Set("ETag", fmt.Sprintf(`"%d"`, i.revision))
	if x.app.Quiet && x.changes() {
		if status != 201 {
			status = 204
		}
		x.w.WriteHeader(status)
		return
	}
	if x.app.Media == "xml" {
		x.w.Header().Set("Content-Type", "application/xml")
		x.w.WriteHeader(status)
		_, _ = x.w.Write(i.opaque)
		return
	}
	switch x.app.Envelope {
	case "jsonapi", "answers":
		x.answer(status, map[string]any{"data": x.bare(key)})
	case "named":
		x.answer(status, map[string]any{x.app.Item: x.bare(key)})
	default:
		x.answer(status, x.bare(key))
	}
}

// one serves an item.
func (x *exchange) one(id string) {
	i := x.app.found(x.key(id))
	switch {
	case i == nil && x.r.Method == http.MethodPut && x.app.IDs == "chosen":
		x.create(id)
		return
	case i == nil:
		x.refuse(404, "there is no "+id)
		return
	case x.r.Method == http.MethodGet:
		if i.reads++; x.app.Builds && i.reads >= building {
			i.fields["status"] = "ACTIVE"
		}
		x.show(200, x.key(id))
		return
	case x.app.Guarded && x.r.Header.Get("If-Match") == "":
		x.refuse(428, "say with If-Match what you have seen")
		return
	case x.r.Header.Get("If-Match") != "" && x.r.Header.Get("If-Match") != fmt.Sprintf(`"%d"`, i.revision):
		x.refuse(412, "it has changed")
		return
	case x.r.Method == http.MethodDelete && x.app.Lingers > 0:
		if i.goes.IsZero() {
			i.goes, i.fields["status"] = time.Now().Add(x.app.Lingers/8+rand.N(x.app.Lingers*7/8)), "DELETING"
		}
		x.w.WriteHeader(202)
		return
	case !i.goes.IsZero():
		x.refuse(409, "it is being deleted")
		return
	case x.r.Method == http.MethodDelete:
		x.app.remove(x.key(id))
		x.w.WriteHeader(204)
		return
	case !slices.Contains(x.app.Only, x.r.Method):
		x.refuse(405, "not so")
		return
	case x.app.Builds && i.fields["status"] != "ACTIVE":
		x.refuse(409, "it is being built")
		return
	}
	x.change(i, x.key(id))
}

// change serves a PUT or a PATCH.
func (x *exchange) change(i *item, key string) {
	fields, ok := x.fields()
	if !ok {
		return
	}
	if x.app.Envelope == "jsonapi" && !x.says(key) {
		x.refuse(409, "say in data of which type and which id it is")
		return
	}
	name := fields["name"]
	if name != nil && x.app.Unique && x.taken(name, key) {
		x.refuse(409, "that name is taken")
		return
	}
	own := map[string]any{}
	for _, f := range []string{"status", "power", "rolls"} { // clients have no say in these
		if v, has := i.fields[f]; has {
			own[f] = v
		}
	}
	if x.app.Partial && strings.Contains(string(x.body), `"id"`) {
		x.refuse(400, "the identifier is not for clients")
		return
	}
	if x.r.Method == http.MethodPatch || x.app.Partial {
		fields = merged(i.fields, fields)
	}
	maps.Copy(fields, own)
	i.fields, i.opaque = fields, x.body
	i.revision++
	x.show(200, key)
}

// says reports whether the envelope of a change names the item that it is for, as JSON:API has it.
func (x *exchange) says(key string) bool {
	var body struct{ Data struct{ Type, ID string } }
	return json.Unmarshal(x.body, &body) == nil && body.Data.Type == x.collection && body.Data.ID == key
}

// merged is a merge patch applied (RFC 7396), one level deep.
func merged(to, patch map[string]any) map[string]any {
	all := maps.Clone(to)
	for name, v := range patch {
		if v == nil {
			delete(all, name)
		} else {
			all[name] = v
		}
	}
	return all
}

// act serves POST …/action, and those that count.
func (x *exchange) act(id, what string) {
	i := x.app.found(x.key(id))
	switch {
	case i != nil && x.app.Counts && x.r.Method == http.MethodPost && (what == "incr" || what == "roll"):
		field := map[string]string{"incr": "count", "roll": "rolls"}[what]
		n, _ := strconv.Atoi(fmt.Sprint(i.fields[field]))
		i.fields[field] = json.Number(strconv.Itoa(n + 1))
		i.revision++
		x.show(200, x.key(id))
		return
	case i == nil || what != "action" || !x.app.Actions || x.r.Method != http.MethodPost:
		x.refuse(404, "there is nothing here")
		return
	case x.app.Builds && i.fields["status"] != "ACTIVE":
		x.refuse(409, "it is being built")
		return
	}
	var body map[string]any
	if json.Unmarshal(x.body, &body) != nil || len(body) != 1 {
		x.refuse(400, "say one thing to do")
		return
	}
	for verb, with := range body {
		switch verb {
		case "start":
			i.fields["power"] = "on"
		case "stop":
			i.fields["power"] = "off"
		case "resize":
			size, _ := with.(map[string]any)
			i.fields["size"] = size["to"]
		default:
			x.refuse(400, "what is "+verb+"?")
			return
		}
	}
	i.revision++
	x.w.WriteHeader(202)
}

// remove deletes an item with all that lies in it.
func (a *App) remove(key string) {
	for k := range a.items {
		if k == key || strings.HasPrefix(k, key+"/") {
			delete(a.items, k)
			a.order = slices.DeleteFunc(a.order, func(o string) bool { return o == k })
		}
	}
}

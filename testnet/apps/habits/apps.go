package habits

import (
	"embed"
	"time"
)

//go:embed catalogs
var catalogs embed.FS

// Known is an application with these habits and what a conformance run needs of it.
type Known struct {
	Name, About string
	// Service is that of the catalog.
	Service string
	Habits  Habits
	// Bodies create objects, by SERVICE/KIND, and are those of operations, by SERVICE/KIND/OPERATION. Media is that of all of them.
	Bodies map[string]string
	Media  string
	// Header goes with every request.
	Header [2]string
}

// Catalog describes the application to an agent.
func (k *Known) Catalog() []byte {
	b, err := catalogs.ReadFile("catalogs/" + k.Name + ".yaml")
	if err != nil {
		panic(err) // it is part of this program
	}
	return b
}

// All are the applications.
var All = []Known{
	{Name: "jsonapi", Service: "boats", About: "Envelopes of JSON:API, whose media type it insists on, as on type and id in each change; patches alone; the next page as an address in the body.",
		Habits: Habits{Collection: "boats", Item: "boat", Envelope: "jsonapi", Pages: "next", Only: []string{"PATCH"}}, Media: "application/vnd.api+json",
		Bodies: map[string]string{"boats/boat": `{"data":{"type":"boats","attributes":{"name":"x","port":7,"crew":["a","b","c"]}}}`}},
	{Name: "hal", Service: "boats", About: "HAL: a link to itself in each representation, lists in `_embedded`; slugs of names as identifiers; a change without `If-Match` is refused (428).",
		Habits: Habits{Collection: "boats", Item: "boat", Envelope: "hal", IDs: "slugs", Pages: "next", Guarded: true},
		Bodies: map[string]string{"boats/boat": `{"name":"x","port":7,"crew":["a","b","c"]}`}},
	{Name: "quiet", Service: "boats", About: "Answers to what changes something have no body: 201 with `Location` alone, 204 to a PUT. Integers as identifiers; pages by offset; a DELETE on the collection deletes all.",
		Habits: Habits{Collection: "boats", Item: "boat", Envelope: "plain", IDs: "integers", Pages: "offset", Quiet: true},
		Bodies: map[string]string{"boats/boat": `{"name":"x","port":7,"crew":["a","b","c"]}`}},
	{Name: "forms", Service: "boats", About: "Bodies are forms, which are not looked into; JSON is shown. Nothing is done without the header `X-Tenant`; pages by cursor.",
		Habits: Habits{Collection: "boats", Item: "boat", Envelope: "plain", Media: "form", Pages: "cursor", Tenant: "X-Tenant", Only: []string{"PUT"}}, Media: "application/x-www-form-urlencoded",
		Bodies: map[string]string{"boats/boat": "name={name}&port={value}"}, Header: [2]string{"X-Tenant", "harbour"}},
	{Name: "documents", Service: "boats", About: "Documents of XML, which are not looked into, under names that clients choose; the PUT that makes one is answered with 200.",
		Habits: Habits{Collection: "boats", Item: "boat", Media: "xml", IDs: "chosen", Only: []string{"PUT"}}, Media: "application/xml",
		Bodies: map[string]string{"boats/boat": "<boat><name>{name}</name><port>{value}</port></boat>"}},
	{Name: "machines", Service: "machines", About: "An envelope named after the item; what is new is BUILD for a while and takes no change until it is ACTIVE; `POST …/action` does what its body says.",
		Habits: Habits{Collection: "machines", Item: "machine", Envelope: "named", Builds: true, Actions: true, Only: []string{"PUT"}},
		Bodies: map[string]string{"machines/machine": `{"machine":{"name":"x","size":1}}`, "machines/machine/start": `{"start":null}`, "machines/machine/stop": `{"stop":null}`, "machines/machine/resize": `{"resize":{"to":4}}`}},
	{Name: "partial", Service: "boats", About: "An envelope named after the item; a PUT changes what it names and leaves the rest, and is refused with what clients do not set.",
		Habits: Habits{Collection: "boats", Item: "boat", Envelope: "named", Partial: true, Only: []string{"PUT"}},
		Bodies: map[string]string{"boats/boat": `{"boat":{"name":"x","port":7,"crew":["a","b","c"]}}`}},
	{Name: "answers", Service: "boats", About: "What clients send comes back in an envelope that they do not send.",
		Habits: Habits{Collection: "boats", Item: "boat", Envelope: "answers"},
		Bodies: map[string]string{"boats/boat": `{"name":"x","port":7,"crew":["a","b","c"]}`}},
	{Name: "shelves", Service: "shelves", About: "Books lie on shelves; identifiers are composed of a kind and a number; the next page stands in a header.",
		Habits: Habits{Collection: "books", Item: "book", Within: "shelves", IDs: "composed", Pages: "header"},
		Bodies: map[string]string{"shelves/shelf": `{"name":"x","room":1}`, "shelves/book": `{"name":"x","pages":7,"authors":["a","b","c"]}`}},
	{Name: "unique", Service: "boats", About: "A name is given once in the whole application; pages by `Link`.",
		Habits: Habits{Collection: "boats", Item: "boat", Unique: true, Pages: "link"},
		Bodies: map[string]string{"boats/boat": `{"name":"x","port":7,"crew":["a","b","c"]}`}},
	{Name: "late", Service: "boats", About: "A creation is answered with 202, and what it makes is found up to two seconds later, by whatever request: 404 until then.",
		Habits: Habits{Collection: "boats", Item: "boat", Late: 2 * time.Second},
		Bodies: map[string]string{"boats/boat": `{"name":"x","port":7,"crew":["a","b","c"]}`}},
	{Name: "lingering", Service: "boats", About: "A deletion is answered with 202, and what it is for is there for up to two seconds more, with the status DELETING: it takes no change then (409).",
		Habits: Habits{Collection: "boats", Item: "boat", Lingers: 2 * time.Second},
		Bodies: map[string]string{"boats/boat": `{"name":"x","port":7,"crew":["a","b","c"]}`}},
}

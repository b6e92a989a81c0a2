package glue

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
)

// Gatherer is a Dialect that makes one of the lists of several sites, and one of what happens at them. Versions are what an application
// calls the states of a list and of what is in it; those of several sites become one version, which clients do not take apart.
// Implementations are safe for concurrent use.
type Gatherer interface {
	// InOne returns the path of a list within one container, for that of the same list over all containers.
	InOne(path string) (in string, ok bool)
	// Asks tells what a GET on a collection asks for.
	Asks(query string, header http.Header) Asking
	// ListQuery is what one site is asked for: from next on where its list has begun, and else as of a version, empty for any.
	ListQuery(a Asking, version, next string) string
	// WatchQuery is what one site is asked for to tell what happens from a version on.
	WatchQuery(a Asking, version string) string
	// TakeList takes the answer to a list apart; it keeps body.
	TakeList(body []byte) (*Gathered, error)
	// TakeEvent takes one event of a watch apart; it keeps line.
	TakeEvent(line []byte) (GatheredEvent, error)
	// Unseen makes an item of the list of what is known of something that its site did not list; false where the list has none like it.
	Unseen(list *Gathered, container, name string, known json.RawMessage) (GatheredItem, bool)
	// Versions makes one version of those of sites, empty ones for unknown; SplitVersions is the other way round, and false for what
	// is no version of just these.
	Versions(sites, versions []string) string
	// Condition reads what of an item has to hold for a request to be done; false for nothing. Site is the one that asks.
	Condition(method string, header http.Header, body []byte, site string) (Condition, bool)
	SplitVersions(text string, sites []string) (versions []string, ok bool)
}

// Asking is what a list or a watch is asked for.
type Asking struct {
	Watch bool
	// Accept is the media type that every site is asked for.
	Accept string
	// Version is the one to begin at, empty for any; Next is where a list that has begun goes on.
	Version, Next string
	// Begin asks for what is there before what happens. Marks: the client takes events that tell versions only.
	Begin, Marks bool
	// Timeout ends a watch; zero for none.
	Timeout time.Duration
	// Name is that of the only item that is asked for, empty for others.
	Name string
	// Page is how many items a page of a list is to have; zero: as Rest says.
	Page int
	// Objects has every item tell its object, also where a client is shown something else.
	Objects bool
	// Rest is what else is asked, as a query.
	Rest string
}

// Gathered is a list taken apart.
type Gathered struct {
	Items         []GatheredItem
	Version, Next string
	// Columns is how many there are where items are rows of a table, zero otherwise.
	Columns int
	// Plain has Join and Event write nothing of where items are.
	Plain bool
	// Join writes the list with other items, as of a version, and where it goes on.
	Join func(items []json.RawMessage, version, next string) []byte
	// Event writes what an item's Text has returned as an event that tells how it is, or that it is there; Mark one that tells a version
	// only, or also that all has been told that was there.
	Event func(item json.RawMessage, version string, there bool) json.RawMessage
	Mark  func(version string, begun bool) json.RawMessage
}

// GatheredItem is one item.
type GatheredItem struct {
	Container, Name, Version string
	// Text writes it under a version; where says at which sites it is, empty for nothing of it.
	Text func(version, where string) json.RawMessage
	// Object is what its site shows, as far as the item tells it; Showing returns the same item with another object of that kind.
	Object  json.RawMessage
	Showing func(k *engine.Kind, object json.RawMessage) GatheredItem
}

// GatheredEvent is one event of a watch.
type GatheredEvent struct {
	GatheredItem
	// Mark says that it tells a version only.
	Mark bool
	// Failed is the status of a watch that ends with it, zero for others.
	Failed int
	// New says that the item was not there before, Gone that it is there no more.
	New, Gone bool
}

// Condition is what has to hold of an item.
type Condition struct {
	// Several says that it names a version of several sites.
	Several bool
	// Broken says why it does not hold of what an application shows, empty if it does.
	Broken func(shown []byte) string
	// Now returns the body with the version of what is shown in its place; without any condition where it is for other sites, too.
	Now func(shown []byte, everywhere bool) []byte
	// ContentType is that of this body where it is another one.
	ContentType string
}

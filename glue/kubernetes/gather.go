package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

var _ glue.Gatherer = Dialect{}

// initialEnd is the annotation of the bookmark after the events that tell what was there.
const initialEnd = "k8s.io/initial-events-end"

// InOne implements glue.Gatherer: /api/v1/pods are the pods of all namespaces.
func (Dialect) InOne(path string) (string, bool) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	n := map[string]int{"api": 3, "apis": 4}[segments[0]]
	if n == 0 || len(segments) != n {
		return "", false
	}
	return "/" + strings.Join(slices.Insert(segments, n-1, namespaces, "any"), "/"), true
}

// Asks implements glue.Gatherer.
func (Dialect) Asks(query string, header http.Header) glue.Asking {
	values, _ := url.ParseQuery(strings.TrimPrefix(query, "?"))
	truth := func(name string) bool { b, _ := strconv.ParseBool(values.Get(name)); return b }
	seconds, _ := strconv.Atoi(values.Get("timeoutSeconds"))
	a := glue.Asking{
		Watch: truth("watch"), Accept: accept(header), Version: values.Get("resourceVersion"), Next: values.Get("continue"),
		Begin: truth("sendInitialEvents"), Marks: truth("allowWatchBookmarks"), Timeout: time.Duration(max(0, seconds)) * time.Second,
	}
	for term := range strings.SplitSeq(values.Get("fieldSelector"), ",") {
		if name, ok := strings.CutPrefix(strings.Replace(term, "==", "=", 1), "metadata.name="); ok {
			a.Name = name
		}
	}
	if a.Version == "0" { // any will do
		a.Version = ""
	}
	for _, name := range []string{"watch", "resourceVersion", "continue", "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds"} {
		values.Del(name)
	}
	if a.Watch || a.Version == "" {
		values.Del("resourceVersionMatch")
	}
	if a.Watch {
		values.Del("limit")
	}
	if values.Get("includeObject") == "None" { // a row has to tell what it is of
		values.Del("includeObject")
	}
	a.Rest = values.Encode()
	return a
}

// rest is what is asked of every site, beside a version.
func rest(a glue.Asking) url.Values {
	values, _ := url.ParseQuery(a.Rest)
	if a.Objects {
		values.Set("includeObject", "Object") // in the rows of a table
	}
	return values
}

// accept returns the first media type in JSON that a client takes.
func accept(header http.Header) string {
	for part := range strings.SplitSeq(strings.Join(header.Values("Accept"), ","), ",") {
		if t, _, err := mime.ParseMediaType(part); err == nil && t == "application/json" {
			return strings.TrimSpace(part)
		}
	}
	return "application/json"
}

// ListQuery implements glue.Gatherer.
func (Dialect) ListQuery(a glue.Asking, version, next string) string {
	values := rest(a)
	if a.Page > 0 {
		values.Set("limit", strconv.Itoa(a.Page))
	}
	switch {
	case next != "":
		values.Del("resourceVersionMatch")
		values.Set("continue", next)
	case version != "":
		values.Set("resourceVersion", version)
	default:
		values.Del("resourceVersionMatch")
	}
	return values.Encode()
}

// WatchQuery implements glue.Gatherer.
func (Dialect) WatchQuery(a glue.Asking, version string) string {
	values := rest(a)
	values.Set("watch", "true")
	values.Set("allowWatchBookmarks", "true")
	values.Set("resourceVersion", version)
	return values.Encode()
}

// jsonObject is a JSON object whose members are left alone.
type jsonObject map[string]json.RawMessage

func objectOf(text json.RawMessage) jsonObject {
	o := jsonObject{}
	_ = json.Unmarshal(text, &o) // what is none has no members
	return o
}

func (o jsonObject) text(name string) (s string) {
	_ = json.Unmarshal(o[name], &s)
	return s
}

// with returns the text of o with one member set.
func (o jsonObject) with(name string, value any) json.RawMessage {
	other := jsonObject{}
	for k, v := range o {
		other[k] = v
	}
	other[name] = encode(value)
	return encode(other)
}

// without is o without one member.
func (o jsonObject) without(name string) jsonObject {
	other := jsonObject{}
	for k, v := range o {
		if k != name {
			other[k] = v
		}
	}
	return other
}

func encode(value any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // it is made of what was read
	}
	return bytes.TrimSpace(b.Bytes())
}

// isTable reports whether it has rows in place of items.
func (o jsonObject) isTable() bool { return o.text("kind") == "Table" }

// itemOf takes one object apart.
func itemOf(text json.RawMessage) glue.GatheredItem {
	o := objectOf(text)
	meta := objectOf(o["metadata"])
	return glue.GatheredItem{
		Container: meta.text("namespace"), Name: meta.text("name"), Version: meta.text("resourceVersion"),
		Text: func(version, _ string) json.RawMessage {
			return o.with("metadata", meta.with("resourceVersion", version))
		},
		Object:  text,
		Showing: func(_ *engine.Kind, object json.RawMessage) glue.GatheredItem { return itemOf(object) },
	}
}

// rowOf takes one row of a table apart; it gets a cell more.
func rowOf(text json.RawMessage) glue.GatheredItem {
	row := objectOf(text)
	item := itemOf(row["object"])
	var cells []json.RawMessage
	_ = json.Unmarshal(row["cells"], &cells)
	whole := item.Text
	item.Text = func(version, where string) json.RawMessage {
		shown := objectOf(row.with("object", whole(version, where)))
		if where == "" {
			return encode(shown)
		}
		return shown.with("cells", append(slices.Clip(cells), encode(where)))
	}
	item.Showing = func(k *engine.Kind, object json.RawMessage) glue.GatheredItem {
		return rowOf(objectOf(row.with("object", object)).with("cells", append(cellsOf(k, object, len(cells)), cells[min(len(cells), len(columns[k.Name])):]...)))
	}
	return item
}

// siteColumn tells in a table where something is.
type siteColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int    `json:"priority"`
}

// withSites adds that to the columns of a table, where it has them: events after the first have none.
func (o jsonObject) withSites() jsonObject {
	var columns []json.RawMessage
	if json.Unmarshal(o["columnDefinitions"], &columns) != nil || len(columns) == 0 {
		return o
	}
	column := siteColumn{"Site", "string", "", "The sites that have it.", 0}
	return objectOf(o.with("columnDefinitions", append(columns, encode(column))))
}

// TakeList implements glue.Gatherer.
func (Dialect) TakeList(body []byte) (*glue.Gathered, error) {
	list := objectOf(body)
	at, take := "items", itemOf
	if list.isTable() {
		at, take = "rows", rowOf
	}
	var items []json.RawMessage
	if err := json.Unmarshal(list[at], &items); err != nil && list[at] != nil {
		return nil, fmt.Errorf("%w: %s is no array", glue.ErrNoList, at)
	}
	if list["metadata"] == nil {
		return nil, fmt.Errorf("%w: it has no metadata", glue.ErrNoList)
	}
	meta := objectOf(list["metadata"])
	g := &glue.Gathered{Version: meta.text("resourceVersion"), Next: meta.text("continue")}
	for _, text := range items {
		g.Items = append(g.Items, take(text))
	}
	g.Join = func(items []json.RawMessage, version, next string) []byte {
		about := jsonObject{"resourceVersion": encode(version)}
		if next != "" {
			about["continue"] = encode(next)
		}
		whole := list
		if list.isTable() && !g.Plain {
			whole = list.withSites()
		}
		if items == nil {
			items = []json.RawMessage{}
		}
		return objectOf(whole.with("metadata", about)).with(at, items)
	}
	kind := encode(strings.TrimSuffix(list.text("kind"), "List"))
	g.Mark = func(version string, begun bool) json.RawMessage {
		meta := map[string]any{"resourceVersion": version}
		if begun {
			meta["annotations"] = map[string]string{initialEnd: "true"}
		}
		return encode(map[string]any{"type": "BOOKMARK", "object": jsonObject{"kind": kind, "apiVersion": list["apiVersion"], "metadata": encode(meta)}})
	}
	g.Event = func(item json.RawMessage, version string, there bool) json.RawMessage {
		var shown any
		if o := objectOf(item); !list.isTable() { // in a list they say nothing of their kind
			o["kind"], o["apiVersion"] = kind, list["apiVersion"]
			shown = o
		} else {
			table := list
			if !g.Plain {
				table = list.withSites()
			}
			table = objectOf(table.with("metadata", jsonObject{"resourceVersion": encode(version)}))
			shown = table.with("rows", []json.RawMessage{item})
		}
		return encode(map[string]any{"type": map[bool]string{true: "ADDED", false: "MODIFIED"}[there], "object": shown})
	}
	if list.isTable() {
		var columns []json.RawMessage
		_ = json.Unmarshal(list["columnDefinitions"], &columns)
		g.Columns = len(columns)
	}
	return g, nil
}

// Unseen implements glue.Gatherer. In a table only its name is known.
func (Dialect) Unseen(list *glue.Gathered, container, name string, known json.RawMessage) (glue.GatheredItem, bool) {
	if list.Columns == 0 {
		item := itemOf(known)
		return item, item.Name != ""
	}
	cells := []string{name}
	for len(cells) < list.Columns {
		cells = append(cells, "<unknown>")
	}
	return rowOf(encode(map[string]any{"cells": cells, "object": map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{"name": name, "namespace": container},
	}})), true
}

// TakeEvent implements glue.Gatherer.
func (Dialect) TakeEvent(line []byte) (glue.GatheredEvent, error) {
	event := objectOf(line)
	kind, about := event.text("type"), objectOf(event["object"])
	var e glue.GatheredEvent
	switch {
	case kind == "" || event["object"] == nil:
		return e, errors.New("the API server sent what is no event")
	case kind == "ERROR":
		e.Failed = http.StatusInternalServerError
		_ = json.Unmarshal(about["code"], &e.Failed)
		return e, nil
	case kind == "BOOKMARK":
		meta := objectOf(about["metadata"])
		e.Mark, e.Version = true, meta.text("resourceVersion")
		e.Text = func(version, _ string) json.RawMessage {
			marked := objectOf(about.with("metadata", meta.with("resourceVersion", version)))
			if about.isTable() {
				marked = objectOf(marked.with("rows", []any{}))
			}
			return event.with("object", marked)
		}
		return e, nil
	}
	item := itemOf(event["object"])
	whole := func(version, where string) json.RawMessage { return item.Text(version, where) }
	if about.isTable() {
		var rows []json.RawMessage
		if json.Unmarshal(about["rows"], &rows) != nil || len(rows) != 1 {
			return e, errors.New("the API server sent an event that is not of one object")
		}
		item = rowOf(rows[0])
		row, meta := item.Text, objectOf(about["metadata"])
		whole = func(version, where string) json.RawMessage {
			table := about
			if where != "" {
				table = about.withSites()
			}
			table = objectOf(table.with("metadata", meta.with("resourceVersion", version)))
			return table.with("rows", []json.RawMessage{row(version, where)})
		}
	}
	e.GatheredItem, e.New, e.Gone = item, kind == "ADDED", kind == "DELETED"
	e.Text = func(version, where string) json.RawMessage { return event.with("object", whole(version, where)) }
	return e, nil
}

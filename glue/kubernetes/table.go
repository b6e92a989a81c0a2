package kubernetes

import (
	"encoding/json"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// A client that prints asks the API server for a table. That shows one part of an object which is spread over sites, so that the table of
// all parts together is made here, for the kinds that are divided.

// column is one of a table: what its cell shows of an object.
type column struct {
	name string
	cell func(o *object) any
}

// columns are those that the API server gives the kinds, without the wide ones.
var columns = map[engine.KindName][]column{
	"deployments.apps":       {named, {"Ready", ready}, {"Up-to-date", status("updatedReplicas")}, {"Available", status("availableReplicas")}, age},
	"replicasets.apps":       {named, {"Desired", wanted}, {"Current", status("replicas")}, {"Ready", status("readyReplicas")}, age},
	"replicationcontrollers": {named, {"Desired", wanted}, {"Current", status("replicas")}, {"Ready", status("readyReplicas")}, age},
	"statefulsets.apps":      {named, {"Ready", ready}, age},
}

// scaleColumns are those of what a kind's scale shows.
var scaleColumns = []column{named, {"Desired", wanted}, {"Available", status("replicas")}, age}

// object is what is read of one.
type object struct {
	Kind     string
	Metadata struct {
		Name, CreationTimestamp string
	}
	Spec   struct{ Replicas *int }
	Status map[string]json.RawMessage
}

var (
	named = column{"Name", func(o *object) any { return o.Metadata.Name }}
	age   = column{"Age", func(o *object) any { return since(o.Metadata.CreationTimestamp, time.Now()) }}
)

func (o *object) count(name string) int {
	n, _ := strconv.Atoi(string(o.Status[name])) // what is none is zero: the API leaves zeros out
	return n
}

func status(name string) func(*object) any { return func(o *object) any { return o.count(name) } }

func wanted(o *object) any {
	if o.Spec.Replicas == nil {
		return 1
	}
	return *o.Spec.Replicas
}

func ready(o *object) any {
	return strconv.Itoa(o.count("readyReplicas")) + "/" + strconv.Itoa(wanted(o).(int))
}

// since says how long ago a time is, in its largest unit.
func since(stamp string, now time.Time) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return "<unknown>"
	}
	d := max(now.Sub(t), 0)
	for _, unit := range []struct {
		of   time.Duration
		from time.Duration
		name string
	}{{24 * time.Hour, 48 * time.Hour, "d"}, {time.Hour, 3 * time.Hour, "h"}, {time.Minute, 2 * time.Minute, "m"}} {
		if d >= unit.from {
			return strconv.Itoa(int(d/unit.of)) + unit.name
		}
	}
	return strconv.Itoa(int(d/time.Second)) + "s"
}

// cellsOf are the first cells of the row of an object, those that columns has for its kind.
func cellsOf(k *engine.Kind, text json.RawMessage, most int) []json.RawMessage {
	var o object
	_ = json.Unmarshal(text, &o) // what cannot be read shows nothing
	var cells []json.RawMessage
	for _, c := range columns[k.Name] {
		cells = append(cells, encode(c.cell(&o)))
	}
	return cells[:min(most, len(cells))]
}

// wantsTable reports whether a client prefers a table to anything else.
func wantsTable(accept string) bool {
	first, _, _ := strings.Cut(accept, ",")
	_, params, err := mime.ParseMediaType(first)
	return err == nil && params["as"] == "Table" && params["v"] == "v1" && params["g"] == "meta.k8s.io"
}

// Rendered makes the table that kubectl prints.
func (Dialect) Rendered(k *engine.Kind, accept string, body []byte) (string, []byte, bool) {
	list := columns[k.Name]
	var o object
	var whole struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if list == nil || !wantsTable(accept) || json.Unmarshal(body, &o) != nil || json.Unmarshal(body, &whole) != nil {
		return "", nil, false
	}
	if o.Kind == "Scale" {
		list = scaleColumns
	}
	var heads, cells []any
	for _, c := range list {
		cell := c.cell(&o)
		head := map[string]any{"name": c.name, "type": "string", "format": "", "description": "", "priority": 0}
		if _, number := cell.(int); number {
			head["type"] = "integer"
		}
		if c.name == "Name" {
			head["format"] = "name"
		}
		heads, cells = append(heads, head), append(cells, cell)
	}
	table, err := json.Marshal(map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{},
		"columnDefinitions": heads, "rows": []any{map[string]any{"cells": cells, "object": map[string]any{
			"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": whole.Metadata}}}})
	return "application/json", table, err == nil
}

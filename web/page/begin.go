package page

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/auth"
)

// beginning is a request to begin with, made from what the catalog says of a kind.
type beginning struct {
	Value, Label string
	Service      string
	Kind         string
	Method, Path string
	ContentType  string
	Body         string
}

// beginnings lists what can be asked for, kind after kind.
func (p *Page) beginnings() []beginning {
	var all []beginning
	for _, s := range p.api.Services {
		for _, k := range s.Kinds() {
			for _, b := range beginningsOf(k) {
				b.Service, b.Kind = string(s.Name), string(k.Name)
				b.Value = b.Service + "." + b.Kind + "." + b.Label
				all = append(all, b)
			}
		}
	}
	return all
}

// group has the beginnings of one kind.
type group struct {
	Name       string
	Beginnings []beginning
}

func groups(all []beginning) (list []group) {
	for _, b := range all {
		name := b.Service + "." + b.Kind
		if n := len(list); n == 0 || list[n-1].Name != name {
			list = append(list, group{Name: name})
		}
		last := &list[len(list)-1]
		last.Beginnings = append(last.Beginnings, b)
	}
	return list
}

func beginningsOf(k *engine.Kind) []beginning {
	list := []beginning{{Label: "create", Method: http.MethodPost, Path: k.Collection, Body: exampleBody(k)}}
	if k.ID.From == engine.IDFromPath {
		list[0].Method, list[0].Path = http.MethodPut, k.Item
	}
	if k.MergePatch {
		method, media := tree.MergeForm(k)
		list = append(list, beginning{Label: "change", Method: method, Path: k.Item, ContentType: media, Body: "{}"})
	} else if k.JSONPatch != "" {
		list = append(list, beginning{Label: "change", Method: http.MethodPatch, Path: k.Item, ContentType: k.JSONPatch, Body: "[]"})
	} else {
		list = append(list, beginning{Label: "replace", Method: http.MethodPut, Path: k.Item, Body: exampleBody(k)})
	}
	for _, o := range k.Operations {
		list = append(list, beginning{Label: string(o.Name), Method: o.Method, Path: o.Path})
	}
	return append(list, beginning{Label: "delete", Method: http.MethodDelete, Path: k.Item})
}

// exampleBody has the fields that the catalog names: what a representation has beside them only its application knows.
func exampleBody(k *engine.Kind) string {
	body := map[string]any{}
	if k.ID.Settable {
		put(body, k.ID.At, "")
	}
	put(body, k.Unique, "")
	for _, r := range k.Refs {
		put(body, r.At, "id of "+engineName(r.Service, r.Kind))
	}
	for _, at := range k.Divide {
		put(body, at, 1)
	}
	for _, at := range k.Sensitive {
		put(body, at, "")
	}
	if len(body) == 0 {
		body["name"] = ""
	}
	b, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return "" // there are strings and numbers in it
	}
	return string(b)
}

func engineName(s engine.ServiceName, k engine.KindName) string { return string(s) + "." + string(k) }

// put sets a value in nested objects. A pointer into a list is left out: how long it is nobody knows.
func put(body map[string]any, at engine.Pointer, v any) {
	tokens := strings.Split(strings.TrimPrefix(string(at), "/"), "/")
	if at == "" || strings.Contains(string(at), "*") {
		return
	}
	for _, t := range tokens[:len(tokens)-1] {
		inner, ok := body[t].(map[string]any)
		if _, taken := body[t]; taken && !ok {
			return
		}
		if !ok {
			inner = map[string]any{}
			body[t] = inner
		}
		body = inner
	}
	if last := tokens[len(tokens)-1]; body[last] == nil {
		body[last] = v
	}
}

// begin fills a draft with what was chosen to begin with.
func (d *draft) begin() {
	for _, b := range d.Beginnings {
		if b.Value == d.Begin {
			d.Service = b.Service
			d.Method, d.Path, d.ContentType, d.Body = b.Method, b.Path, b.ContentType, b.Body
		}
	}
}

// liken gives the draft the body of an object that is there.
func (p *Page) liken(ctx context.Context, d *draft) error {
	i := slices.IndexFunc(d.Beginnings, func(b beginning) bool { return b.Value == d.Begin })
	if i < 0 {
		return nil
	}
	if auth.From(ctx).Role < auth.Operator {
		d.Wrong = "To read an object of the application it takes the role operator."
		return nil
	}
	body, err := p.api.Likeness(ctx, api.ResourceRef{ID: d.Like, Service: d.Beginnings[i].Service, Kind: d.Beginnings[i].Kind})
	if err != nil {
		r, told := refusalOf(err)
		if !told {
			return err
		}
		d.Wrong = r.Detail
		return nil
	}
	d.Body = string(body)
	return nil
}

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"
)

// Inner is one thing that lies in a site's part of a container which is spread over sites. Each site tells of its own.
type Inner struct {
	Kind KindName `json:"kind"`
	// Local is the identifier that the site's application knows it by, that of the container apart.
	Local string `json:"local_id"`
	// Name is what is given once in all parts; empty where nothing is.
	Name string `json:"name,omitempty"`
	// At is when the site first knew of it.
	At time.Time `json:"at"`
	// Resource is the replicated resource that it is a replica of, empty for none.
	Resource ResourceID `json:"resource,omitempty"`
	// Digest tells representations apart; Summary is the representation, or what it is called where that is long.
	Digest  string          `json:"digest,omitempty"`
	Summary json.RawMessage `json:"summary,omitempty"`
	// Own says that no request made it that came through the agent: the application did, or somebody behind the agent's back.
	Own bool `json:"own,omitempty"`
	// Gone says that it is no more.
	Gone bool `json:"gone,omitempty"`
}

const (
	// maxContentSummary is the most bytes of the summary of one thing, maxContents how many things a site tells of.
	maxContentSummary = 512
	maxContents       = 2000
)

// Contained is an Inner with its site.
type Contained struct {
	Site SiteID
	Inner
}

// contentKey is the key of a thing in the map of contents.
func contentKey(site SiteID, kind KindName, local string) string {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + local))
	return string(site) + "/" + hex.EncodeToString(sum[:16])
}

// contentOf describes a representation of what lies in a container; ok is false for one that shows no identifier. Local is its
// identifier here where that is known already.
func (v *view) contentOf(k *Kind, local string, representation []byte, now time.Time) (c Inner, ok bool) {
	tree, err := parseJSON(representation)
	if err == nil && local == "" {
		local, _ = idAt(tree, k.ID.At)
	}
	if local == "" {
		return c, false
	}
	c = Inner{Kind: k.Name, Local: local, Name: k.nameOf(tree, local), At: now}
	if err != nil {
		return c, true
	}
	for _, p := range slices.Concat(k.Sensitive, k.Ignore) {
		unsetAt(tree, p)
	}
	whole := compact(tree)
	c.Digest, c.Summary = keyedDigest(v.document, "content", whole), whole
	if len(whole) > maxContentSummary {
		var short any = map[string]any{}
		for _, p := range []Pointer{k.ID.At, k.Unique} {
			if value, has := valueAt(tree, p); has && p != "" {
				short = setAt(short, p, value)
			}
		}
		if c.Summary = compact(short); len(c.Summary) > maxContentSummary {
			c.Summary = nil
		}
	}
	return c, true
}

// idAt returns the identifier at a path of a representation.
func idAt(tree any, at Pointer) (string, bool) {
	if at == "" {
		return "", false
	}
	switch id, _ := valueAt(tree, at); id := id.(type) {
	case string:
		return id, id != ""
	case json.Number:
		return id.String(), true
	}
	return "", false
}

// nameOf is what is given once in a container: what the catalog says, else an identifier that clients choose. It is empty for
// what has no such name, and for those that the catalog excepts.
func (k *Kind) nameOf(tree any, id string) string {
	name := ""
	switch {
	case k.Unique != "":
		name, _ = idAt(tree, k.Unique)
	case k.Natural():
		name = id
	}
	if slices.ContainsFunc(k.UniqueExcept, func(pattern string) bool { is, err := path.Match(pattern, name); return is && err == nil }) {
		return ""
	}
	return name
}

// NameIn returns the name that a representation has which is given once in a container, empty for none. ID is its identifier, where
// that does not show it.
func (k *Kind) NameIn(representation []byte, id string) string {
	tree, err := parseJSON(representation)
	if id == "" && err == nil {
		id, _ = idAt(tree, k.ID.At)
	}
	return k.nameOf(tree, id)
}

// inside lists what the parts of a container are known to hold, of one kind, or of all for an empty one, oldest first.
func (v *view) inside(kind KindName) []Contained {
	var all []Contained
	for key, c := range v.contents {
		author, _, _ := strings.Cut(key, "/")
		if site := SiteID(author); !c.Gone && v.holds(site) && (kind == "" || c.Kind == kind) {
			all = append(all, Contained{site, c})
		}
	}
	slices.SortFunc(all, func(a, b Contained) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(string(a.Site)+"/"+string(a.Kind)+"/"+a.Local, string(b.Site)+"/"+string(b.Kind)+"/"+b.Local)
	})
	return all
}

// same reports whether two things are one: replicas of one resource.
func (i Contained) same(j Contained) bool {
	return i.Site == j.Site && i.Local == j.Local || i.Resource != "" && i.Resource == j.Resource
}

// insideConflicts are names that two sides of a cut have given to two things inside a container. The earlier keeps it.
func (v *view) insideConflicts() []Conflict {
	var list []Conflict
	first := map[string]Contained{}
	for _, i := range v.inside("") {
		if i.Name == "" || i.Own {
			continue
		}
		key := string(i.Kind) + "\x00" + i.Name
		owner, taken := first[key]
		switch {
		case !taken:
			first[key] = i
		case !owner.same(i):
			list = append(list, v.insideConflict(owner, i))
		}
	}
	return list
}

func (v *view) insideConflict(owner, late Contained) Conflict {
	c := Conflict{
		ID:   conflictID(string(v.document), string(late.Site), string(late.Kind), late.Local, "name"),
		Kind: ConflictNameTaken, Document: v.document, Resource: v.about.Key, Service: v.about.Service, KindName: v.about.Kind,
		Site: late.Site, Since: late.At, Actions: []Action{ActionDismiss},
		Reason: string(late.Kind) + " " + late.Name + " was made at " + string(v.name(late.Site)) + " while " + string(v.name(owner.Site)) +
			" had one of that name already, since " + owner.At.UTC().Format("2006-01-02 15:04:05 UTC") +
			": that one keeps the name; rename or delete the other, or let both be",
	}
	if decided := v.accepted(c.ID, c.Since); decided != nil {
		c.Accepted, c.Actions = decided, []Action{}
	}
	return c
}

// check checks what an Inner from another site must fulfil.
func (c *Inner) check() bool {
	return c.Kind != "" && c.Local != "" && len(c.Summary) <= maxContentSummary && (c.Summary == nil || json.Valid(c.Summary))
}

// keptContents is what a checkpoint keeps of the contents: without summaries where there are many.
func (v *view) keptContents() map[string]Inner {
	size := 0
	kept := map[string]Inner{}
	for key, c := range v.contents {
		if !c.Gone {
			kept[key] = c
			size += len(key) + len(c.Summary) + 256
		}
	}
	if size < MaxCheckpoint/2 {
		return kept
	}
	for key, c := range kept {
		c.Summary = nil
		kept[key] = c
	}
	return kept
}

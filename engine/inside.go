package engine

import (
	"context"
	"strings"
)

// What lies inside a container is named by both: blue in the namespace foo is "foo/blue", to clients and in this site's own
// terms alike. The container's own identifier comes first, so that paths can be filled from left to right.

var (
	escapePart   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescapePart = strings.NewReplacer("%2F", "/", "%25", "%")
)

// Inside is the identifier of what id names inside a container; of an empty id, the beginning of all of them.
func Inside(container, id string) string { return container + "/" + escapePart.Replace(id) }

// inside is the identifier of what id names: inside a container where the kind's resources lie in one. An empty id stays.
func (k *Kind) inside(container, id string) string {
	if k.Within == "" || id == "" {
		return id
	}
	return Inside(container, id)
}

// Split takes an identifier of this kind apart: that of its container, empty where it has none, and its own.
func (k *Kind) Split(id string) (container, own string) {
	if k.Within == "" {
		return "", id
	}
	i := strings.LastIndexByte(id, '/')
	return id[:max(i, 0)], unescapePart.Replace(id[i+1:])
}

// AsContainer writes an identifier of this kind as Inside takes it, and FromContainer reads it again.
func (k *Kind) AsContainer(id string) string {
	if k.Within != "" {
		return id
	}
	return escapePart.Replace(id)
}

func (k *Kind) FromContainer(container string) string {
	if k.Within != "" {
		return container
	}
	return unescapePart.Replace(container)
}

// containers returns what others and what this site call a container of things of this kind.
func (s *Site) containers(ctx context.Context, k *Kind, container string) (meta, local string) {
	c := s.known.Load().by[kindKey{k.Service, k.Within}]
	if c == nil {
		return container, container
	}
	row, err := s.Lookup(ctx, c, c.FromContainer(container))
	if err != nil {
		return container, container
	}
	meta, local = c.AsContainer(string(row.ID)), container
	if row.Local != "" {
		local = c.AsContainer(string(row.Local))
	}
	return meta, local
}

// containerKnown reports whether something is to lie in a container that this site shares with others.
func (s *Site) containerKnown(ctx context.Context, k *Kind, id LocalID) bool {
	c := s.known.Load().by[kindKey{k.Service, k.Within}]
	if c == nil {
		return false
	}
	container, _ := k.Split(string(id))
	_, err := s.Lookup(ctx, c, c.FromContainer(container))
	return err == nil
}

// containerTries is how often something is sent into a container of which this site has not heard: for some two minutes.
const containerTries = 15

// awaitsContainer reports whether a create that the application has answered with 404 is to be sent again: its container is still to be
// made here, or may still be heard of.
func (s *Site) awaitsContainer(ctx context.Context, r *resource, k *Kind, o *Operation, at LocalID) bool {
	if k.Within == "" || s.containerKnown(ctx, k, at) {
		return k.Within != ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view != nil && (r.view.attempts[o.ID] == nil || r.view.attempts[o.ID].count < containerTries)
}

// everywhere returns an identifier with its container's meta-identifier in it.
func (s *Site) everywhere(ctx context.Context, k *Kind, id string) string {
	if k.Within == "" || id == "" {
		return id
	}
	container, own := k.Split(id)
	meta, _ := s.containers(ctx, k, container)
	return Inside(meta, own)
}

// here returns an identifier that clients have chosen as this site's application knows it: inside its own container.
func (s *Site) here(ctx context.Context, k *Kind, id string) LocalID {
	if k.Within == "" || id == "" {
		return LocalID(id)
	}
	container, own := k.Split(id)
	_, local := s.containers(ctx, k, container)
	return LocalID(Inside(local, own))
}

// addressed returns what the application gets for an identifier in a request: target, or where that is empty the container that
// something is to be made in.
func (s *Site) addressed(ctx context.Context, k *Kind, target, within string) LocalID {
	if target == "" && k.Within != "" {
		target = Inside(within, "")
	}
	return s.here(ctx, k, target)
}

// FillPath puts an identifier into a path that has {id} and, before it, the names of the containers' kinds in braces. ok is
// false where the identifier has less parts than the path. A path without {id} takes the parts that it has room for.
func FillPath(path, id string, escape func(string) string) (filled string, ok bool) {
	segments := strings.Split(path, "/")
	var places []int
	item := false
	for i, s := range segments {
		if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
			places = append(places, i)
			item = item || s == "{id}"
		}
	}
	switch {
	case len(places) == 0:
		return path, true
	case item && len(places) == 1:
		segments[places[0]] = escape(id)
		return strings.Join(segments, "/"), true
	}
	parts := strings.Split(id, "/")
	if len(parts) < len(places) {
		return path, false
	}
	for i, at := range places {
		segments[at] = escape(unescapePart.Replace(parts[i]))
	}
	return strings.Join(segments, "/"), true
}

// shownAs is the identifier in a request as people read it.
func (k *Kind) shownAs(target, within string) string {
	if target == "" && k.Within != "" {
		return Inside(within, "")
	}
	return target
}

// shownPath is a path as people read it.
func shownPath(path, id string) string {
	filled, _ := FillPath(path, id, func(s string) string { return s })
	return filled
}

package draft

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/skerry/skerry/glue"
)

// Draft is a catalog that was drafted.
type Draft struct {
	YAML  []byte
	Kinds int
}

// Options name what the document does not. Empty: made from its title.
type Options struct{ Application, Service string }

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// From drafts a catalog from an OpenAPI document. The result can be read as a catalog.
func From(b []byte, o Options) (Draft, error) {
	d, err := parse(b)
	if err != nil {
		return Draft{}, err
	}
	title := strings.Trim(dashes.ReplaceAllString(unnamed.ReplaceAllString(strings.ToLower(d.title), "-"), "-"), "-._")
	if len(title) > 40 {
		title = strings.Trim(title[:40], "-._")
	}
	for _, n := range []*string{&o.Application, &o.Service} {
		if *n == "" {
			*n = title
		}
		if *n == "" {
			*n = "application"
		}
		if !name.MatchString(*n) {
			return Draft{}, fmt.Errorf("%q is no name: at most 63 letters, digits, \"_\", \"-\" and \".\", a letter or digit first", *n)
		}
	}
	f := d.find()
	out := Draft{YAML: f.write(o), Kinds: len(f.kinds)}
	if _, err := glue.ParseCatalog("draft", out.YAML); err != nil {
		return out, fmt.Errorf("the draft is no catalog; this is a fault of the importer: %w", err)
	}
	return out, nil
}

func (f found) write(o Options) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Drafted from the application's OpenAPI document. Look at every line that says DECIDE, then: skerry catalog check FILE.")
	line("application: %s", quoted(o.Application))
	line("services:")
	line("  %s:", quoted(o.Service))
	if len(f.kinds) == 0 {
		line("    kinds: {} # none was found: requests are forwarded, and nothing is replicated")
	} else {
		line("    # DECIDE idempotency_key: honoured # when a repeated Idempotency-Key does nothing twice")
		line("    kinds:")
	}
	for _, k := range f.kinds {
		k.write(line, o.Service)
	}
	if len(f.skipped) > 0 {
		line("# Not among the kinds:")
		for _, s := range f.skipped {
			line("#   %s", oneLine(s))
		}
	}
	return b.Bytes()
}

func (k *kind) write(line func(string, ...any), service string) {
	line("      %s:", quoted(k.name))
	line("        collection: %s", quoted(k.collection))
	line("        item: %s", quoted(k.item))
	switch {
	case k.from == "path":
		line("        id: {from: path} # clients choose it with a PUT")
	case k.at == "":
		line("        id: {from: body, at: /id} # DECIDE: the document does not tell where the identifier stands")
	case k.settable:
		line("        id: {from: body, at: %s} # DECIDE: add settable: true if a create takes an identifier in its body", quoted(k.at))
	default:
		line("        id: {from: body, at: %s}", quoted(k.at))
	}
	switch {
	case k.page != "":
		line("        list: {items: %s, page: %s}", quoted(k.list), quoted(k.page))
	case k.list != "":
		line("        list: {items: %s}", quoted(k.list))
	}
	line("        visibility: global # DECIDE: local if it cannot be used from another site")
	many := func(key string, pointers []string, why string) {
		if len(pointers) == 0 {
			return
		}
		all := make([]string, len(pointers))
		for i, p := range pointers {
			all[i] = quoted(p)
		}
		line("        %s: [%s] # %s", key, strings.Join(all, ", "), why)
	}
	many("ignore", k.ignore, "DECIDE: only what differs between replicas by nature")
	many("sensitive", k.sensitive, "hidden in pages, API and logs")
	if len(k.links) > 0 {
		line("        links:")
		for _, l := range k.links {
			line("          - {at: %s}", quoted(l))
		}
	}
	if len(k.refs) > 0 {
		line("        # DECIDE which of these hold identifiers of others, and what they are needed for (requirement, reliance, composition):")
		line("        # refs:")
		for _, r := range k.refs {
			line("        #   - {at: %s, to: %s, relation: reliance}", quoted(r.at), quoted(service+"."+r.to))
		}
	}
	if len(k.actions) > 0 {
		line("        # DECIDE what these do: with sets, counter, repeatable or effect (docs/resolution.md); undeclared ones are not done twice:")
		line("        # operations:")
		for _, a := range k.actions {
			line("        #   - {name: %s, match: %s}", quoted(a), quoted("POST "+k.item+"/"+a))
		}
	}
}

var bare = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9/_.-]*$`)

// quoted writes a text as YAML, in quotes unless that is a plain word in every version of the format.
func quoted(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return strconv.Quote(s)
	}
	if bare.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

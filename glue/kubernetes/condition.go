package kubernetes

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/skerry/skerry/glue"
)

// Condition implements glue.Gatherer: a change holds for one resourceVersion of the object, a delete for a uid or a resourceVersion. That of a
// scale is the object's.
func (Dialect) Condition(method string, header http.Header, body []byte, site string) (glue.Condition, bool) {
	if method == http.MethodDelete {
		return deleteCondition(header, body, site)
	}
	if isProtobuf(header) {
		if method != http.MethodPut || !bytes.HasPrefix(body, []byte(magic)) {
			return glue.Condition{}, false
		}
		version, _ := nested(body[len(magic):], unknownRaw, objectMeta, metaVersion)
		own, several := versionAt(string(version), site)
		if !several {
			return glue.Condition{}, false
		}
		return glue.Condition{Several: true, Broken: newerThan(own), Now: func(shown []byte, _ bool) []byte {
			set, ok := withNested(body[len(magic):], []byte(versionOf(shown)), unknownRaw, objectMeta, metaVersion)
			if !ok {
				return body
			}
			return append([]byte(magic), set...)
		}}, true
	}
	switch mediaType(header) {
	case "application/json", "application/merge-patch+json", strategicMerge, serverApply:
	default:
		return glue.Condition{}, false
	}
	o := objectOf(body)
	meta := objectOf(o["metadata"])
	version := meta.text("resourceVersion")
	own, several := versionAt(version, site)
	scale := o.text("kind") == "Scale" && version != ""
	if !several && !scale {
		return glue.Condition{}, false
	}
	if !several {
		own = version
	}
	return glue.Condition{Several: several, Broken: newerThan(own), Now: func(shown []byte, everywhere bool) []byte {
		if everywhere {
			return o.with("metadata", meta.without("resourceVersion"))
		}
		return o.with("metadata", meta.with("resourceVersion", versionOf(shown)))
	}}, true
}

// deleteCondition is that of a delete's options.
func deleteCondition(header http.Header, body []byte, site string) (c glue.Condition, ok bool) {
	o := objectOf(body)
	if isProtobuf(header) {
		if o, ok = deleteOptions(body); !ok {
			return c, false
		}
		c.ContentType = "application/json"
	}
	conditions := objectOf(o["preconditions"])
	uid, version := conditions.text("uid"), conditions.text("resourceVersion")
	if uid == "" && version == "" {
		return c, false
	}
	own, several := versionAt(version, site)
	c.Several = several
	c.Broken = func(shown []byte) string {
		if now := objectOf(objectOf(shown)["metadata"]).text("uid"); uid != "" && uid != now {
			return fmt.Sprintf("is not the one with the uid %s there, but %s", uid, now)
		}
		switch {
		case several:
			return newerThan(own)(shown)
		case version != "" && version != versionOf(shown):
			return fmt.Sprintf("is not at the resourceVersion %s there, but at %s", version, versionOf(shown))
		}
		return ""
	}
	c.Now = func(shown []byte, everywhere bool) []byte {
		if everywhere {
			return encode(o.without("preconditions"))
		}
		return o.with("preconditions", conditions.with("resourceVersion", versionOf(shown)))
	}
	return c, true
}

func versionOf(shown []byte) string {
	return objectOf(objectOf(shown)["metadata"]).text("resourceVersion")
}

// newerThan says of an object whether it has changed since a version.
func newerThan(version string) func(shown []byte) string {
	return func(shown []byte) string {
		now := versionOf(shown)
		switch {
		case version == "":
			return "was read at another site"
		case len(now) > len(version) || len(now) == len(version) && strings.Compare(now, version) > 0:
			return "has been modified since it was read"
		}
		return ""
	}
}

// deleteOptions reads the options of a delete in protobuf, as far as clients send them.
func deleteOptions(body []byte) (jsonObject, bool) {
	raw, ok := optionsOf(body)
	if !ok {
		return nil, false
	}
	o := jsonObject{"kind": encode("DeleteOptions"), "apiVersion": encode("v1")}
	conditions := map[string]string{}
	if in, has := field(raw, optionsPreconditions); has {
		for number, name := range map[uint64]string{1: "uid", 2: "resourceVersion"} {
			if text, has := field(in, number); has {
				conditions[name] = string(text)
			}
		}
		o["preconditions"] = encode(conditions)
	}
	if policy, has := field(raw, optionsPolicy); has {
		o["propagationPolicy"] = encode(string(policy))
	}
	if seconds, has := number(raw, optionsGrace); has {
		o["gracePeriodSeconds"] = encode(seconds)
	}
	if orphan, has := number(raw, optionsOrphan); has {
		o["orphanDependents"] = encode(orphan != 0)
	}
	if deletesDry(body) {
		o["dryRun"] = encode([]string{"All"})
	}
	return o, true
}

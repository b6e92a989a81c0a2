package passage

import (
	"mime"
	"net/url"
	"strings"
)

// Watching reports whether a query has the parameter of a watch, and does not say no.
func Watching(query, parameter string) bool {
	values, _ := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if parameter == "" || !values.Has(parameter) {
		return false
	}
	switch strings.ToLower(values.Get(parameter)) {
	case "false", "0", "no":
		return false
	}
	return true
}

// Endless reports whether a media type is of streams that do not end by themselves.
func Endless(mediaType string) bool {
	t, _, _ := mime.ParseMediaType(strings.TrimSpace(mediaType))
	return t == "text/event-stream"
}

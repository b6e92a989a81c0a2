package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// params reads the query of a call. A parameter that the call does not know, or that comes twice, is refused: a
// misspelt filter must not look like an empty result.
func params(c echo.Context, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query cannot be read: %v", err)
	}
	for name, values := range q {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return nil, badRequest("unknown query parameter %q: this call takes none", name)
			}
			return nil, badRequest("unknown query parameter %q: this call takes %s", name, strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return nil, badRequest("query parameter %q is given %d times", name, len(values))
		}
		if len(values[0]) > 4096 {
			return nil, badRequest("query parameter %q is over 4096 bytes", name)
		}
	}
	return q, nil
}

// limit reads the page size; 0 when it is not given.
func limit(q url.Values) (int, error) {
	s := q.Get("limit")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1000 {
		return 0, badRequest("limit is %q: give a number from 1 to 1000", s)
	}
	return n, nil
}

// flag reads a parameter that is true or false; false when it is not given.
func flag(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, badRequest("%s is %q: give true or false", name, q.Get(name))
}

// segment returns a path parameter, unescaped: Echo matches the escaped path where the two differ.
func segment(c echo.Context, name string) (string, error) {
	s := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return s, nil
	}
	u, err := url.PathUnescape(s)
	if err != nil {
		return "", badRequest("the path cannot be read: %v", err)
	}
	return u, nil
}

// decode reads exactly one JSON object without unknown members into v.
func decode(c echo.Context, v any) error {
	r := c.Request()
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "media-type", "send the body as Content-Type: application/json")
	}
	d := json.NewDecoder(http.MaxBytesReader(c.Response(), r.Body, bodyBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return refuse(http.StatusRequestEntityTooLarge, "too-large", "the body is over %d bytes", big.Limit)
		}
		return badRequest("the body cannot be read: %s", plainJSONError(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("the body has something after its JSON object")
	}
	return nil
}

// plainJSONError says what encoding/json found, without its package's name and Go types.
func plainJSONError(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Sprintf("%s cannot be a %s", t.Field, t.Value)
	}
	if errors.Is(err, io.EOF) {
		return "it is empty"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// parseState checks that s is one of the states; empty stays empty.
func parseState(s string, states ...engine.State) (engine.State, error) {
	if s == "" || slices.Contains(states, engine.State(s)) {
		return engine.State(s), nil
	}
	names := make([]string, len(states))
	for i, st := range states {
		names[i] = string(st)
	}
	return "", badRequest("unknown state %q: give one of %s", s, strings.Join(names, ", "))
}

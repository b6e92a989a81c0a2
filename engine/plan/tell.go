package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/skerry/skerry/engine"
)

const (
	// toldBytes is how much of what an application says is told.
	toldBytes = 200
	// lookedBytes is the most bytes of an answer in which a message is looked for.
	lookedBytes = 64 << 10
)

// Noun is how people call an operation of a type.
func Noun(t engine.Type) string {
	switch t {
	case engine.TypeCreate:
		return "creation"
	case engine.TypeDelete:
		return "deletion"
	case engine.TypeAction:
		return "action"
	case engine.TypePlace:
		return "change of where it lives"
	}
	return "change"
}

// Told names an operation of a type that has a path, within a sentence: an action by the last word of that.
func Told(t engine.Type, path string) string {
	if name := path[strings.LastIndexByte(path, '/')+1:]; t == engine.TypeAction && name != "" && name != "{id}" {
		return "the action " + name
	}
	return "this " + Noun(t)
}

// Tell says in words and in one line what came of a request, as the end of a sentence about the application: what it has answered, or why there
// is no answer.
func Tell(r engine.Reply, err error) string {
	switch {
	case err != nil:
		return tellError(err)
	case r.Status == 0:
		return oneLine(r.Body)
	}
	code := Code(r.Status)
	if words := said(r); words != "" {
		return fmt.Sprintf("it answered \"%s\" (%s)", words, code)
	}
	return "it answered " + code
}

// Lacks says why a create waits that the application has answered with r: it does not find its container, or is deleting that.
func Lacks(r engine.Reply) string {
	if r.Closed {
		return "the application is deleting the container of it: " + Tell(r, nil)
	}
	return "the application does not find where to make it: " + Tell(r, nil)
}

// Code is a status of HTTP as people are told it, "503 Service Unavailable".
func Code(status int) string {
	return strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status)))
}

// tellError says why there is no answer.
func tellError(err error) string {
	var late interface{ Timeout() bool }
	switch {
	case errors.Is(err, engine.ErrUnsendable):
		return err.Error()
	case errors.Is(err, engine.ErrUnreachable):
		if why := root(err); why != engine.ErrUnreachable {
			return "it cannot be reached (" + why.Error() + ")"
		}
		return "it cannot be reached"
	case errors.As(err, &late) && late.Timeout():
		return "it did not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection without an answer"
	}
	return err.Error()
}

// root is the error that others are wrapped around: of several the last.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			if all := several.Unwrap(); len(all) > 0 {
				inner = all[len(all)-1]
			}
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}

// said is what an answer says to people; empty: nothing.
func said(r engine.Reply) string {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "text/html" {
		return oneLine(plainText(r.Body))
	}
	var body any
	if len(r.Body) <= lookedBytes && json.Unmarshal(r.Body, &body) == nil {
		for depth := range 3 {
			if words := messageOf(body, depth); words != "" {
				return oneLine([]byte(words))
			}
		}
	}
	return oneLine(r.Body)
}

// messages are the members in which applications say what is wrong, what tells most first.
var messages = []string{"message", "detail", "error_message", "error_description", "faultstring", "error", "description", "title", "reason", "msg"}

// messageOf finds the message of an answer at a depth: some applications wrap it into an object or an array.
func messageOf(body any, depth int) string {
	var inside []any
	switch v := body.(type) {
	case string:
		if depth == 0 {
			return v
		}
	case []any:
		inside = v
	case map[string]any:
		if depth == 0 {
			for _, name := range messages {
				if words, _ := v[name].(string); words != "" {
					return words
				}
			}
			return ""
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if _, text := v[name].(string); !text {
				inside = append(inside, v[name])
			}
		}
	}
	for _, v := range inside {
		if words := messageOf(v, depth-1); depth > 0 && words != "" {
			return words
		}
	}
	return ""
}

// oneLine is the beginning of a text, in one line and without what is no text.
func oneLine(text []byte) string {
	text = text[:min(len(text), 4*toldBytes)] // white space and all
	line := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(text), ""), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(line) <= toldBytes {
		return line
	}
	return strings.ToValidUTF8(line[:toldBytes], "") + "…"
}

// plainText is what a page says to who reads it, in one line: some applications answer errors with one.
func plainText(page []byte) []byte {
	var words [][]byte
	skipped := 0
	for z := html.NewTokenizer(bytes.NewReader(page)); ; {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return bytes.Join(words, []byte(" "))
		case html.TextToken:
			if skipped == 0 {
				words = append(words, bytes.Fields(z.Text())...)
			}
		case html.StartTagToken, html.EndTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "head", "style", "script":
				if kind == html.StartTagToken {
					skipped++
				} else {
					skipped = max(0, skipped-1)
				}
			}
		}
	}
}

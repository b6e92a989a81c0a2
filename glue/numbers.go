package glue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
)

// Identifiers are text to the agent. Applications that number their resources show them as JSON numbers, and refuse
// text in their place; so the type is learned from what the application shows.

// learn notes how the application shows identifiers of a kind.
func (c *Client) learn(k kindName, number bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numeric[k] = number
}

// shownID reads the identifier of a representation and learns its type.
func (c *Client) shownID(k *engine.Kind, body []byte) (string, bool) {
	if k.ID.At == "" || len(body) == 0 || !json.Valid(body) {
		return "", false
	}
	id, ok := "", false
	values(body, skipSpace(body, 0), k.ID.At.Tokens(), func(v span) {
		s, number, good := identifier(body[v.start:v.end])
		if good {
			id, ok = s, true
			c.learn(nameOf(k), number)
		}
	})
	return id, ok
}

// numbers reports whether the application shows the identifiers of a kind as numbers. When nothing was seen yet, it
// reads the resource that local names; if that does not tell, a number is assumed, since local looks like one. An
// error means that the application could not be asked.
func (c *Client) numbers(ctx context.Context, name kindName, local engine.LocalID, credentials *engine.Credentials) (bool, error) {
	c.mu.Lock()
	number, known := c.numeric[name]
	c.mu.Unlock()
	if known {
		return number, nil
	}
	k := c.known.Load().kinds[name]
	if k == nil || k.ID.At == "" {
		return true, nil
	}
	r, err := c.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: local, Credentials: authentication(credentials)})
	if err != nil {
		// Whatever it was that this read met, the request that asks for it was not sent.
		return false, fmt.Errorf("%w: learn what identifiers of %s look like: %w", engine.ErrUnreachable, k.Name, err)
	}
	if r.Status == http.StatusOK {
		c.shownID(k, r.Body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if number, known = c.numeric[name]; known {
		return number, nil
	}
	return true, nil
}

// authentication returns those of a caller's headers that say who asks, without the conditions of the request.
func authentication(c *engine.Credentials) *engine.Credentials {
	if c == nil {
		return nil
	}
	out := c.Header.Clone()
	for _, name := range []string{
		"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Content-Type", "Content-Language",
		"Content-Encoding", "Accept", "Prefer",
	} {
		out.Del(name)
	}
	return &engine.Credentials{Header: out}
}

func validObject(body []byte) bool {
	b := bytes.TrimLeft(body, " \t\r\n")
	return len(b) > 0 && b[0] == '{' && json.Valid(body)
}

package engine

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"

	"golang.org/x/net/html"
)

// representation reads what the application shows of a resource, in terms of meta-identifiers.
func (s *Site) representation(ctx context.Context, k *Kind, local LocalID) ([]byte, error) {
	reply, err := s.read(ctx, k, local)
	if err != nil {
		return nil, err
	}
	if reply.Status != http.StatusOK {
		return nil, fmt.Errorf("read %s: %w", local, statusError(reply.Status))
	}
	p, err := s.cfg.App.Present(ctx, k, reply)
	return p.Body, err
}

// statusError is an answer of the application that shows nothing.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// shown reads what the application shows of a resource as clients see it.
func (s *Site) shown(ctx context.Context, k *Kind, local LocalID) (Reply, error) {
	reply, err := s.read(ctx, k, local)
	if err != nil {
		return reply, err
	}
	return s.cfg.App.Present(ctx, k, reply)
}

func (s *Site) read(ctx context.Context, k *Kind, local LocalID) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	return s.cfg.App.Do(ctx, Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: local,
		Header: map[string]string{"Accept": "application/json"}})
}

// call sends an operation to the application. It is not given up because a client has gone.
func (s *Site) call(ctx context.Context, k *Kind, o *Operation, local LocalID, credentials http.Header, key string) (Reply, error) {
	c := Call{
		Kind: k, Method: o.Method, Path: o.Path, Local: local, Query: o.Query, Header: o.Header, Body: o.Body,
		Key: key, Credentials: credentials,
	}
	body, marked := s.marked(k, o, key)
	switch {
	case marked:
		c.Body = body
	case o.Blob != nil:
		content, err := s.cfg.Blobs.Open(*o.Blob, 0)
		if err != nil { // it has certainly not gone out
			return Reply{}, fmt.Errorf("read the body of operation %s: %w: %w", o.ID, ErrUnreachable, err)
		}
		defer content.Close()
		c.Content, c.Length = content, o.Blob.Size
		return s.cfg.App.Do(context.WithoutCancel(ctx), c)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CallTimeout)
	defer cancel()
	return s.cfg.App.Do(ctx, c)
}

// firstKey is the Idempotency-Key of an operation that runs at this site, however often it is sent.
func (s *Site) firstKey(o *Operation) string { return string(o.ID) + "." + string(s.name(s.cfg.Self)) }

func tell(r Reply, err error) string {
	if err != nil {
		return err.Error()
	}
	const most = 200
	text := r.Body
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "text/html" {
		text = plainText(text)
	}
	return fmt.Sprintf("status %d %s", r.Status, text[:min(len(text), most)])
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

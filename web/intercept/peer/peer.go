package peer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// What agents say to each other, in headers. From clients none of it is believed.
const (
	HeaderService   = "Skerry-Service"     // the service that is addressed
	HeaderOperation = "Skerry-Operation"   // the identifier that the first agent gave
	HeaderVia       = "Skerry-Via"         // the sites that passed the request on, in order
	HeaderPlacement = "Skerry-Placement"   // the sites that the scope was resolved to; of a cross, part by part
	HeaderAgain     = "Skerry-Again"       // the last of them may have passed it on before
	HeaderSince     = "Skerry-Since"       // when it was asked, in microseconds since 1970, if it has waited
	HeaderUser      = "Skerry-User"        // who asked
	HeaderOne       = "Skerry-Exactly-One" // the sites of the placement are to choose from
	HeaderAgreement = "Skerry-Agreement"   // how many sites must have applied it before the answer
	// HeaderAggregate asks for a part of the list of several sites, and names these; headerPage says that it goes on in pages and what
	// this site's application said about that. headerReplicated tells which items are replicated, one bit an item.
	HeaderAggregate  = "Skerry-Aggregate"
	HeaderPage       = "Skerry-Page"
	HeaderReplicated = "Skerry-Replicated"
	HeaderParts      = "Skerry-Parts" // which items are parts of cross resources
	HeaderHomes      = "Skerry-Homes" // which site lists an item, by its number among those of the list
	HeaderNext       = "Skerry-Next"  // the query of the next page
	// HeaderGather asks for a part of a list or a watch of several sites that the dialect makes one (package gather).
	HeaderGather = "Skerry-Gather"
	// HeaderContent says that a GET below an item reads content for a site that was added.
	HeaderContent = "Skerry-Content"
)

// HeaderForce names warnings that a client overrides, separated by commas.
const HeaderForce = "Skerry-Force"

// Forces reports whether a request overrides a warning.
func Forces(h http.Header, what string) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values(HeaderForce), ","), ",") {
		if strings.TrimSpace(part) == what {
			return true
		}
	}
	return false
}

// Since reads when a request was asked that has waited; zero: it has not.
func Since(h http.Header) time.Time {
	micros, err := strconv.ParseInt(h.Get(HeaderSince), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

// SiteList reads sites that are separated by commas.
func SiteList(header string) []engine.SiteID {
	var ids []engine.SiteID
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimSpace(part); part != "" {
			ids = append(ids, engine.SiteID(part))
		}
	}
	return ids
}

// JoinSites writes sites as SiteList reads them.
func JoinSites(ids []engine.SiteID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, ",")
}

// JoinPlacement writes sites, or the parts that they are, for another agent.
func JoinPlacement(sites []engine.SiteID, parts engine.Parts) string {
	if parts == nil {
		return JoinSites(sites)
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = JoinSites(part)
	}
	return strings.Join(texts, ";")
}

// Ask sends a request that changes nothing to another site's agent, and returns with the answer or when the request's
// context has ended. The transport alone would return later than that: closing a stream to a silent site lasts until the
// connection counts as dead. What it gets after all is dropped.
func Ask(peer http.RoundTripper, r *http.Request) (*http.Response, error) {
	type result struct {
		resp *http.Response
		err  error
	}
	results := make(chan result)
	go func() {
		resp, err := peer.RoundTrip(r)
		select {
		case results <- result{resp, err}:
		case <-r.Context().Done():
			if err == nil {
				resp.Body.Close()
			}
		}
	}()
	select {
	case x := <-results:
		return x.resp, x.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// AskAgain does so once more when the connection was lost before it brought the answer: a cut that heals soon leaves one that dies
// afterwards, and asking again harms nothing (RFC 9110, 9.2.2).
func AskAgain(peer http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := Ask(peer, r)
	if err != nil && r.Context().Err() == nil && !errors.Is(err, engine.ErrUnreachable) {
		return Ask(peer, r)
	}
	return resp, err
}

// EncodeReplicated packs which items are replicated, the first item in the lowest bit of the first byte.
func EncodeReplicated(items []glue.Item) string {
	bits := make([]byte, (len(items)+7)/8)
	for i, item := range items {
		if item.Replicated {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return base64.RawURLEncoding.EncodeToString(bits)
}

// DecodeReplicated marks the items that the other site says are replicated.
func DecodeReplicated(header string, items []glue.Item) {
	bits, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return
	}
	for i := range items {
		items[i].Replicated = i/8 < len(bits) && bits[i/8]&(1<<(i%8)) != 0
	}
}

// EncodeNumbers tells a number of each item that is not zero: "3:1,7:2" says that of the item 3, from 0, it is 1.
func EncodeNumbers(items []glue.Item, of func(*glue.Item) *int) string {
	var numbers []string
	for i := range items {
		if n := *of(&items[i]); n > 0 {
			numbers = append(numbers, fmt.Sprintf("%d:%d", i, n))
		}
	}
	return strings.Join(numbers, ",")
}

// DecodeNumbers takes over the numbers that another site tells.
func DecodeNumbers(header string, items []glue.Item, of func(*glue.Item) *int) {
	for pair := range strings.SplitSeq(header, ",") {
		at, number, _ := strings.Cut(pair, ":")
		i, err := strconv.Atoi(at)
		n, err2 := strconv.Atoi(number)
		if err == nil && err2 == nil && i >= 0 && i < len(items) && n > 0 {
			*of(&items[i]) = n
		}
	}
}

// Absent reports whether an answer says that there is no such resource.
func Absent(r *http.Response) bool {
	return r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusGone
}

// Addressed returns the request as another site's agent gets it.
func Addressed(r *http.Request, site engine.SiteID) *http.Request {
	out := *r
	u := *r.URL
	u.Host = string(site)
	out.URL = &u
	out.Header = r.Header.Clone()
	if out.Header.Get(HeaderPlacement) == "" { // a cross is read as one at whichever site
		out.Header.Set(HeaderPlacement, string(site))
	}
	return &out
}

// AgentFailed reports whether the other site's agent, not its application, says that it got no answer.
func AgentFailed(r *http.Response) bool {
	return Failing(r.StatusCode) && strings.HasPrefix(r.Header.Get("Content-Type"), "application/problem+json")
}

// Failing reports whether an agent that got no answer says so with a status.
func Failing(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusLoopDetected:
		return true
	}
	return false
}

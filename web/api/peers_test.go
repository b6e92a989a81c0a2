package api_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

// FuzzPeerCall has another site make each of the calls that are served over the API, about any name and with any body. A site that has no part
// in what it asks about is served nothing that needs one.
func FuzzPeerCall(f *testing.F) {
	s := served.Start(f)
	s.Site.AddResource(served.Image("debian", engine.StateConverged, time.Now()))
	peers := s.Web.Peers()
	var calls []engine.PeerCall
	for _, c := range engine.PeerCalls {
		if strings.Contains(c.Name, " /api/") {
			calls = append(calls, c)
		}
	}
	for i := range calls {
		for _, body := range []string{`{"site":"paris"}`, `{"add":["nantes"],"remove":["paris"]}`, `{"action":"keep","site":"paris"}`, `{"path":"/name"}`, `{}`, ``} {
			f.Add(uint8(i), "debian", "service=images&kind=image", body)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, name, query, body string) {
		c := calls[int(which)%len(calls)]
		method, path, _ := strings.Cut(c.Name, " ")
		target := strings.NewReplacer(":id", url.PathEscape(name), ":name", url.PathEscape(name)).Replace(path)
		for _, from := range []engine.SiteID{served.Nantes, served.Toulouse} {
			r := httptest.NewRequest(method, target, strings.NewReader(body))
			r.URL.RawQuery = query
			r.RemoteAddr = string(from)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			peers.ServeHTTP(w, r)
			if w.Code >= 500 && w.Code != 508 || from == served.Toulouse && c.Who == engine.HasPart && w.Code < 400 {
				t.Fatalf("%s by %s, %q: %d %s", c.Name, from, body, w.Code, w.Body)
			}
		}
	})
}

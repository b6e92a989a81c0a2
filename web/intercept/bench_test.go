package intercept

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
)

// BenchmarkPassThrough compares a request through the agent with one to the application itself: 256 bytes back, at one
// connection and at 32, off the catalog and for an item of a kind.
func BenchmarkPassThrough(b *testing.B) {
	answer := make([]byte, 256)
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(answer)
	}))
	defer application.Close()
	upstream, _ := url.Parse(application.URL)
	client, err := glue.NewClient(glue.ClientConfig{Upstreams: []glue.Upstream{{Service: "images", URL: upstream, Kinds: []*engine.Kind{imageKind}}}})
	if err != nil {
		b.Fatal(err)
	}
	client.Use(alone{})
	defer client.CloseIdle()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	handler := New(Config{Service: "images", Client: client, Site: alone{}, Membership: alone{}, Log: slog.New(slog.DiscardHandler)})
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(b.Context())
	defer func() { stop(); <-ended }()
	go func() { ended <- handler.Door(door.Limits{Drain: time.Millisecond}).Serve(ctx, l) }()
	agent := "http://" + l.Addr().String()
	for _, connections := range []int{1, 32} {
		for _, c := range []struct{ name, url string }{
			{"direct", application.URL + "/images/1"}, {"item", agent + "/images/1"}, {"other", agent + "/x"},
		} {
			b.Run(c.name+"/"+map[int]string{1: "1", 32: "32"}[connections], func(b *testing.B) {
				t := &http.Transport{MaxIdleConnsPerHost: connections}
				defer t.CloseIdleConnections()
				work := make(chan struct{})
				done := make(chan error)
				b.ReportAllocs()
				for range connections {
					go func() {
						var err error
						for range work {
							err = get(t, c.url)
						}
						done <- err
					}()
				}
				b.ResetTimer()
				for range b.N {
					work <- struct{}{}
				}
				close(work)
				for range connections {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func get(t *http.Transport, url string) error {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return err
	}
	resp, err := t.RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}

// alone is a site without others and without replicated resources.
type alone struct{ engine.Membership }

func (alone) Holding(context.Context, *engine.Kind, string, int) ([]engine.ResourceRow, error) {
	return nil, nil
}
func (alone) Replicates(*engine.Kind) bool { return false }
func (alone) Self() engine.SiteID          { return paris }
func (alone) Members() []engine.Member     { return nil }
func (alone) Submit(context.Context, engine.Request) (engine.Answer, error) {
	return engine.Answer{}, engine.ErrNotFound
}
func (alone) Contents(context.Context, engine.DocumentID, engine.KindName) ([]engine.Contained, error) {
	return nil, nil
}

func (alone) ContentsChanged(engine.DocumentID) {}

func (alone) Reached(context.Context, engine.After) error    { return nil }
func (alone) Making(context.Context, engine.DocumentID) bool { return false }

func (alone) LastShown(context.Context, engine.DocumentID) (map[engine.SiteID]json.RawMessage, error) {
	return nil, engine.ErrNotFound
}

func (alone) Lookup(context.Context, *engine.Kind, string) (engine.ResourceRow, error) {
	return engine.ResourceRow{}, engine.ErrNotFound
}

func (alone) Known(context.Context, *engine.Kind, string) (engine.ResourceRow, error) {
	return engine.ResourceRow{}, engine.ErrNotFound
}
func (alone) Chosen(context.Context, *engine.Kind, string) (engine.SiteID, bool, error) {
	return "", false, nil
}

func (alone) Zones() []engine.Zone { return nil }

func (alone) Distances() func(a, b engine.SiteID) (time.Duration, bool) { return nil }

func (alone) Relying(context.Context, *engine.Kind, string, int) ([]engine.ResourceRow, error) {
	return nil, nil
}
func (alone) Local(context.Context, engine.ServiceName, engine.KindName, engine.ResourceID) (engine.LocalID, bool) {
	return "", false
}
func (alone) Meta(context.Context, engine.ServiceName, engine.KindName, engine.LocalID) (engine.ResourceID, bool) {
	return "", false
}
func (alone) Translated(engine.ServiceName, engine.KindName) bool { return false }

package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/hooks"
)

// Hook is the identifier of the hook of Generous. Nothing listens where it posts to.
const Hook = "5d0c1f9e22a4b871"

// hooked leaves what a desk would have left: a hook whose receiver has taken events, lost one and fails now.
func (s *Site) hooked(start time.Time) {
	put := func(shelf, key string, v any) {
		b, err := json.Marshal(v)
		if err == nil {
			err = s.Kept.PutRecord(context.Background(), shelf, key, b)
		}
		if err != nil {
			panic(err) // it is text, numbers and times
		}
	}
	put("hooks", Hook, hooks.Hook{ID: Hook, URL: "http://127.0.0.1:9/in", Events: []string{"operation.*", "site.down"}, By: "ada",
		Sealed: Vault{}.Seal(engine.OperationID("hook/"+Hook), []byte("secret")), Created: start.Add(-30 * time.Hour)})
	results := []hooks.Delivery{
		{Result: hooks.Delivered, Status: 204, Took: 12}, {Result: hooks.GivenUp, Status: 410, Took: 9, Error: "the receiver answers 410 Gone"},
		{Result: hooks.Failed, Status: 503, Took: 31, Error: "the receiver answers 503 Service Unavailable"},
		{Result: hooks.Failed, Took: 5000, Error: "dial tcp 127.0.0.1:9: connect: connection refused"}}
	for i, v := range results {
		v.N, v.At, v.Attempt = uint64(i+1), start.Add(time.Duration(i-9)*time.Minute), 1+max(0, i-2)
		v.Event, v.Type = fmt.Sprint(40+min(i, 2)), "operation.applied"
		put("hook-deliveries", fmt.Sprintf("%s/%020d", Hook, v.N), v)
	}
	put("hook-positions", Hook, hooks.Position{After: 41, Delivered: 1, GivenUp: 1, Failing: start.Add(-7 * time.Minute), Attempts: 2, Next: start.Add(95 * time.Second), Deliveries: 4})
}

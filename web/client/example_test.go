package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/skerry/skerry/web/client"
)

// agent stands in for one.
func agent() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[{"id":"72","service":"images","kind":"image","state":"conflict","reason":"refused at nantes"}],"next":""}`)
	}))
}

func Example() {
	running := agent()
	defer running.Close()

	ctx := context.Background()
	c, err := client.New(running.URL, client.Options{})
	if err != nil {
		panic(err)
	}
	for r, err := range c.Resources(ctx, client.Filter{State: "conflict"}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Service, r.ID, r.State+":", r.Reason)
	}
	// Output: images 72 conflict: refused at nantes
}

func ExampleClient_Watch() {
	c, err := client.New("http://127.0.0.1:8700", client.Options{})
	if err != nil {
		panic(err)
	}
	err = c.Watch(context.Background(), client.Watcher{Event: func(_ string, b json.RawMessage) error {
		e, err := client.Decode[client.Event](b)
		if err == nil && e.Type == "operation.converged" {
			fmt.Println(e.Subject, "is at all sites")
		}
		return err
	}})
	if err != nil {
		fmt.Println(err)
	}
}

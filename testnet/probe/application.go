package probe

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/skerry/skerry/testnet/apps/habits"
	"github.com/skerry/skerry/testnet/env"
)

// kind is one sort of object, of a service of its own.
type kind struct {
	service, collection string
	port                int
	// chosen says that clients choose its names; marked, that a create can be found by a marker.
	chosen, marked bool
}

// kinds are what the application has.
var kinds = []kind{
	{service: "boats", collection: "boats", port: 9801, marked: true},
	{service: "berths", collection: "berths", port: 9802, chosen: true},
	{service: "crates", collection: "crates", port: 9803},
}

// late is how long at most what is new is not shown.
const late = 4 * time.Second

func (k kind) habits() habits.Habits {
	h := habits.Habits{Collection: k.collection, Item: strings.TrimSuffix(k.collection, "s"), Late: late, Counts: true, Only: []string{"PATCH"}}
	if k.chosen {
		h.IDs = "chosen"
	}
	return h
}

// findable reports whether a create without an answer is found out about without a person.
func (k kind) findable() bool { return k.chosen || k.marked }

func catalog() []byte {
	var b strings.Builder
	b.WriteString("application: probe\nservices:\n")
	for _, k := range kinds {
		id, marker := "{from: body, at: /id}", ""
		if k.chosen {
			id = "{from: path}"
		}
		if k.marked {
			marker = "        marker: /note\n"
		}
		name := strings.TrimSuffix(k.collection, "s")
		fmt.Fprintf(&b, `  %s:
    kinds:
      %s:
        collection: /%s
        item: /%[3]s/{id}
        id: %s
        correct: merge-patch
%s        operations:
          - {name: incr, match: "POST /%[3]s/{id}/incr", counter: /count}
`, k.service, name, k.collection, id, marker)
	}
	return []byte(b.String())
}

// serving begins the arguments of a process that is the application.
const serving = "serve-the-application"

// application runs as a process of this test's own program.
func application() env.Application {
	a := env.Application{Catalog: catalog(), Services: map[string]int{}, Health: "/" + kinds[0].collection,
		Command: func(string) []string { return []string{os.Args[0], serving} }}
	for _, k := range kinds {
		a.Services[k.service] = k.port
	}
	return a
}

// serve is the application: it ends when its process is told to.
func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ended := make(chan error, len(kinds))
	for _, k := range kinds {
		s := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", k.port), Handler: habits.New(k.habits()), ReadHeaderTimeout: time.Minute}
		go func() { ended <- s.ListenAndServe() }()
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Preview serves the dashboard over a site in memory with something of everything, to look at while working on the
// page: go run ./web/page/preview -listen 127.0.0.1:8799. With -beat, an event comes at that interval; -sites and -resources
// say how many there are more, in every state.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/webtest"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8799", "address to serve on")
	empty := flag.Bool("empty", false, "begin with nothing")
	sites := flag.Int("sites", 0, "how many sites there are more")
	resources := flag.Int("resources", 0, "how many resources there are more")
	beat := flag.Duration("beat", 5*time.Second, "time between two events")
	flag.Parse()
	if err := run(*listen, *empty, *beat, *sites, *resources); err != nil {
		fmt.Fprintln(os.Stderr, "preview:", err)
		os.Exit(1)
	}
}

func run(listen string, empty bool, beat time.Duration, sites, resources int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	site := webtest.Generous()
	if empty {
		site = webtest.Empty()
	}
	crowd(site, sites, resources)
	server, err := web.New(site.Config(listen))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	fmt.Println("http://" + listen)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				site.AddEvent("site.up", "toulouse", `{}`)
			case <-ctx.Done():
				return
			}
		}
	}()
	err = server.Serve(ctx, l)
	stop()
	<-done
	return err
}

// crowd adds sites and resources, some of them in each state.
func crowd(site *webtest.Site, sites, resources int) {
	now := time.Now()
	states := []engine.State{engine.StateConverged, engine.StateConverged, engine.StateConverged, engine.StateConverging, engine.StateDegraded, engine.StateConflict}
	for i := range sites {
		name := engine.SiteName(fmt.Sprintf("edge-%02d", i))
		st := engine.SiteStatus{Reachable: i%9 != 0, LastSeen: now.Add(-time.Duration(i%9) * time.Second), RTT: time.Duration(i) * time.Millisecond}
		site.AddMember(name, engine.SiteID("12D3KooW"+string(name)), st)
		b := &engine.Bulletin{At: now.UnixMicro(), Version: "v0.9.0", Dashboard: "https://" + string(name) + ".example/", Resources: map[engine.State]int{engine.StateConverged: 200 + i}}
		if i%5 == 0 {
			b.Operations, b.Oldest = map[engine.State]int{engine.StatePending: i + 1}, now.Add(-time.Minute).UnixMicro()
		}
		if i%17 == 3 {
			b.Decisions = i%4 + 1
		}
		site.SetBulletin(engine.SiteID("12D3KooW"+string(name)), b)
	}
	for i := range resources {
		state := states[i%len(states)]
		reason := ""
		if state == engine.StateConflict {
			reason = "nantes: refused"
		}
		site.AddResource(engine.ResourceRow{ID: engine.ResourceID(fmt.Sprintf("many-%05d", i)), Label: fmt.Sprintf("machine %05d", i), Service: "images", Kind: "image",
			Collaboration: engine.Replication, State: state, Reason: reason, CreatedAt: now, UpdatedAt: now,
			Sites: map[engine.SiteID]engine.ReplicaStatus{site.Self(): {State: engine.StateConverged}, webtest.Nantes: {State: state}}})
	}
}

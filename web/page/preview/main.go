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
	site.Crowd(sites, resources)
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

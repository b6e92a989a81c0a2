package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Command runs one instance of lab until SIGINT or SIGTERM.
type Command struct {
	Images    string `help:"Address the images service listens on." placeholder:"HOST:PORT" required:""`
	Networks  string `help:"Address the networks service listens on." placeholder:"HOST:PORT" required:""`
	Servers   string `help:"Address the servers service listens on." placeholder:"HOST:PORT" required:""`
	ImagesURL string `name:"images-url" help:"Where the servers service reaches the images service. Default: at its own listener." placeholder:"URL"`
	TokenFile string `name:"images-token-file" help:"File with the bearer token that requests to the images service need which change something. Default: none." placeholder:"FILE" type:"path"`
	Data      string `help:"Directory of the data." placeholder:"DIR" required:"" type:"path"`
}

// Run serves the three services until ctx ends or the process is told to stop.
func (c *Command) Run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.ImagesURL == "" {
		c.ImagesURL = "http://" + c.Images
	}
	l, err := New(Config{Data: c.Data, Images: c.ImagesURL})
	if err != nil {
		return fmt.Errorf("open lab: %w", err)
	}
	err = serve(ctx, map[string]http.Handler{
		c.Images:   guarded(l.Service(Images), c.TokenFile),
		c.Networks: l.Service(Networks),
		c.Servers:  l.Service(Servers),
	})
	return errors.Join(err, l.Close())
}

// serve serves each handler at its address until ctx ends; it waits for the requests that are running.
func serve(ctx context.Context, at map[string]http.Handler) error {
	var servers []*http.Server
	done := make(chan error, len(at))
	var first error
	for address, h := range at {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			first = fmt.Errorf("listen: %w", err)
			break
		}
		s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, s)
		go func() { done <- s.Serve(listener) }()
	}
	ended := 0
	if first == nil {
		select {
		case <-ctx.Done():
		case first = <-done:
			ended = 1
		}
	}
	for _, s := range servers {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		if s.Shutdown(stopping) != nil {
			_ = s.Close() // requests that will not end are cut
		}
		cancel()
	}
	for range len(servers) - ended {
		if err := <-done; first == nil && !errors.Is(err, http.ErrServerClosed) {
			first = err
		}
	}
	return first
}

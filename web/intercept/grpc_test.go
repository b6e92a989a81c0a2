package intercept

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestGRPCClients has grpc-go's own client ask grpc-go's own server through the agent: an answer, an error with its code and message, what the
// client says beside, a stream that goes on while its client listens, and the end of one that its client has left.
func TestGRPCClients(t *testing.T) {
	s := newMesh(t).sites[paris]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	said := make(chan []string, 8)
	app := grpc.NewServer(grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		defer close(left)
		return handler(srv, ss)
	}), grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		m, _ := metadata.FromIncomingContext(ctx)
		said <- m.Get("tenant")
		return handler(ctx, req)
	}))
	checks := health.NewServer()
	healthpb.RegisterHealthServer(app, checks)
	go app.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(app.Stop)
	s.handler.Upstream.Host = l.Addr().String()
	conn, err := grpc.NewClient(strings.TrimPrefix(s.url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ask := healthpb.NewHealthClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	a, err := ask.Check(metadata.AppendToOutgoingContext(ctx, "tenant", "red"), &healthpb.HealthCheckRequest{})
	if err != nil || a.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("the answer is %v (%v)", a, err)
	}
	if got := <-said; len(got) != 1 || got[0] != "red" {
		t.Errorf("the application hears of the tenant %q", got)
	}
	_, err = ask.Check(ctx, &healthpb.HealthCheckRequest{Service: "nothing"})
	if got := status.Convert(err); got.Code() != codes.NotFound || got.Message() != "unknown service" {
		t.Errorf("of an unknown service the client is told %v", err)
	}

	listening, leave := context.WithCancel(ctx)
	events, err := ask.Watch(listening, &healthpb.HealthCheckRequest{Service: "images"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{
		healthpb.HealthCheckResponse_SERVICE_UNKNOWN, healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		if want != healthpb.HealthCheckResponse_SERVICE_UNKNOWN {
			checks.SetServingStatus("images", want)
		}
		e, err := events.Recv()
		if err != nil || e.Status != want {
			t.Fatalf("the stream tells %v (%v), want %v", e, err, want)
		}
	}
	leave()
	select {
	case <-left:
	case <-ctx.Done():
		t.Error("the application goes on for a client that has left")
	}
}

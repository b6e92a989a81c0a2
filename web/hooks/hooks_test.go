package hooks_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/hooks"
	"github.com/skerry/skerry/web/webtest"
)

// receiver answers deliveries in memory.
type receiver struct {
	mu     sync.Mutex
	got    []string // webhook-id of what was taken, in order
	tries  []time.Time
	answer func(r *http.Request, body string) int // 0: no answer
	rest   string                                 // Retry-After of every answer
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries = append(r.tries, time.Now())
	status := 204
	if r.answer != nil {
		status = r.answer(q, string(b))
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	if status < 300 {
		r.got = append(r.got, q.Header.Get("Webhook-Id"))
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{"Retry-After": {r.rest}}, Body: http.NoBody, Request: q}, nil
}

func (r *receiver) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// eventLog is a log of events named by their numbers.
type eventLog struct {
	mu      sync.Mutex
	first   uint64
	types   []string
	changed chan struct{}
}

func newLog() *eventLog { return &eventLog{first: 1, changed: make(chan struct{})} }

func (l *eventLog) add(types ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.types = append(l.types, types...)
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *eventLog) Wait(ctx context.Context, after uint64) ([]hooks.Event, error) {
	for {
		l.mu.Lock()
		var events []hooks.Event
		for i, typ := range l.types {
			if seq := l.first + uint64(i); seq > after {
				events = append(events, hooks.Event{Seq: seq, Type: typ, ID: fmt.Sprint(seq), Body: []byte(`{"n":` + fmt.Sprint(seq) + `}`)})
			}
		}
		changed := l.changed
		l.mu.Unlock()
		if len(events) > 0 {
			return events, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *eventLog) Trimmed(after, next uint64) hooks.Event {
	return hooks.Event{Seq: next - 1, Type: "log.trimmed", ID: fmt.Sprintf("trimmed %d to %d", after, next), Body: []byte(`{}`)}
}

// desk makes a desk over what is kept, and runs it until stop is called.
func desk(t *testing.T, kept *webtest.Records, r *receiver, log *eventLog) (d *hooks.Desk, stop func()) {
	t.Helper()
	d, err := hooks.New(hooks.Config{Store: kept, Vault: webtest.Vault{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		HTTP: &http.Client{Transport: r}, Pauses: []time.Duration{5 * time.Second, time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- d.Run(ctx, log) }()
	return d, func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
}

func add(t *testing.T, d *hooks.Desk, after uint64, events ...string) (hooks.Hook, string) {
	t.Helper()
	h, secret, err := d.Add(context.Background(), "https://receiver.example/in", events, after, "ada")
	if err != nil {
		t.Fatal(err)
	}
	return h, secret
}

func TestDeliveriesAreSignedAndChosen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log, kept := &receiver{}, newLog(), &webtest.Records{}
		d, stop := desk(t, kept, r, log)
		defer stop()
		log.add("operation.accepted")
		_, secret := add(t, d, 1, "operation.*", "site.down")
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) != 32 {
			t.Fatalf("the secret is %q", secret)
		}
		r.answer = func(q *http.Request, body string) int {
			mac := hmac.New(sha256.New, key)
			fmt.Fprintf(mac, "%s.%s.%s", q.Header.Get("webhook-id"), q.Header.Get("webhook-timestamp"), body)
			if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); q.Header.Get("webhook-signature") != want {
				t.Errorf("signed %q, want %q", q.Header.Get("webhook-signature"), want)
			}
			if q.Header.Get("webhook-timestamp") != fmt.Sprint(time.Now().Unix()) || !strings.HasPrefix(q.Header.Get("Content-Type"), "application/cloudevents+json") {
				t.Errorf("headers %v", q.Header)
			}
			return 200
		}
		log.add("operation.applied", "site.up", "resource.created", "site.down", "operation.converged")
		synctest.Wait()
		if got := r.taken(); !slices.Equal(got, []string{"2", "5", "6"}) {
			t.Errorf("delivered %v", got)
		}
	})
}

func TestFailedDeliveriesAreTriedAgainInOrderAndGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log, ctx := &receiver{}, newLog(), context.Background()
		d, stop := desk(t, &webtest.Records{}, r, log)
		defer stop()
		h, _ := add(t, d, 0)
		start, calls := time.Now(), 0
		r.answer = func(q *http.Request, _ string) int {
			calls++
			switch {
			case q.Header.Get("webhook-id") == "2": // taken never
				return 503
			case calls == 1:
				return 0
			case calls == 2:
				return 500
			}
			return 200
		}
		log.add("a.x", "a.y", "a.z")
		time.Sleep(time.Second)
		if _, at, err := d.Get(ctx, h.ID); err != nil || at.Attempts != 1 || at.Failing != start.UTC() || at.Next != start.Add(5*time.Second).UTC() {
			t.Errorf("while it fails: %+v, %v", at, err)
		}
		time.Sleep(time.Hour)
		if got := r.taken(); !slices.Equal(got, []string{"1", "3"}) {
			t.Errorf("delivered %v", got)
		}
		var pauses []string
		for i := 1; i < len(r.tries); i++ {
			pauses = append(pauses, r.tries[i].Sub(r.tries[i-1]).String())
		}
		if got := strings.Join(pauses, " "); got != "5s 1m0s 0s 5s 1m0s 0s" {
			t.Errorf("pauses %s", got)
		}
		_, at, err := d.Get(ctx, h.ID)
		if err != nil || at.After != 3 || at.Delivered != 2 || at.GivenUp != 1 || at.Attempts != 0 || !at.Failing.IsZero() {
			t.Errorf("in the end: %+v, %v", at, err)
		}
		list, err := d.Deliveries(ctx, h.ID, 0, 100)
		if err != nil || len(list) != 7 {
			t.Fatalf("%d deliveries, %v", len(list), err)
		}
		var told []string
		for _, v := range list {
			told = append(told, fmt.Sprintf("%s/%d %d %s", v.Event, v.Attempt, v.Status, v.Result))
		}
		if got := strings.Join(told, ", "); got != "3/1 200 delivered, 2/3 503 given-up, 2/2 503 failed, 2/1 503 failed, 1/3 200 delivered, 1/2 500 failed, 1/1 0 failed" {
			t.Errorf("the log is %s", got)
		}
		if list, err = d.Deliveries(ctx, h.ID, 3, 1); err != nil || len(list) != 1 || list[0].N != 2 {
			t.Errorf("a page of the log: %+v, %v", list, err)
		}
	})
}

// TestAReceiverIsLeftAloneAsLongAsItAsks has one say when it is to be tried again: later than its turn, sooner, and out of all bounds.
func TestAReceiverIsLeftAloneAsLongAsItAsks(t *testing.T) {
	for rest, want := range map[string]time.Duration{"20": 20 * time.Second, "1": 5 * time.Second, "99999999": time.Hour, "-5": 5 * time.Second, "soon": 5 * time.Second, "": 5 * time.Second,
		"at a date": 30 * time.Second} {
		bubble(t, func(t *testing.T) {
			if rest == "at a date" {
				rest = time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
			}
			r, log := &receiver{rest: rest}, newLog()
			calls := 0
			r.answer = func(*http.Request, string) int {
				calls++
				return map[bool]int{true: 429, false: 204}[calls == 1]
			}
			d, stop := desk(t, &webtest.Records{}, r, log)
			defer stop()
			add(t, d, 0)
			log.add("a.x")
			time.Sleep(2 * time.Hour)
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.tries) != 2 || r.tries[1].Sub(r.tries[0]) != want {
				t.Errorf("Retry-After %q: tried at %v, want %s in between", rest, r.tries, want)
			}
		})
	}
}

func TestAHookGoesOnAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log, kept := &receiver{}, newLog(), &webtest.Records{}
		d, stop := desk(t, kept, r, log)
		add(t, d, 0)
		log.add("a.x")
		synctest.Wait()
		r.mu.Lock()
		r.answer = func(*http.Request, string) int { return 500 }
		r.mu.Unlock()
		log.add("a.y")
		synctest.Wait()
		stop()
		r.answer = nil
		log.add("a.z")
		_, stop = desk(t, kept, r, log)
		defer stop()
		synctest.Wait()
		if got := r.taken(); !slices.Equal(got, []string{"1"}) {
			t.Errorf("a restart does not keep to the pause: %v", got)
		}
		time.Sleep(6 * time.Second)
		if got := r.taken(); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("delivered %v", got)
		}
	})
}

func TestAHookThatFellBehindIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log := &receiver{}, newLog()
		d, stop := desk(t, &webtest.Records{}, r, log)
		defer stop()
		add(t, d, 3)
		log.first = 10
		log.add("a.x")
		synctest.Wait()
		if got := r.taken(); !slices.Equal(got, []string{"trimmed 3 to 10", "10"}) {
			t.Errorf("delivered %v", got)
		}
	})
}

func TestASlowReceiverDelaysNoOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := make(chan struct{})
		r, log := &receiver{}, newLog()
		d, stop := desk(t, &webtest.Records{}, r, log)
		defer stop()
		d.HTTP = &http.Client{Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
			if strings.HasPrefix(q.URL.Host, "slow") {
				select {
				case <-slow:
				case <-q.Context().Done():
					return nil, q.Context().Err()
				}
			}
			return r.RoundTrip(q)
		})}
		if _, _, err := d.Add(context.Background(), "https://slow.example", nil, 0, ""); err != nil {
			t.Fatal(err)
		}
		add(t, d, 0)
		log.add("a.x", "a.y")
		synctest.Wait()
		if got := r.taken(); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("delivered %v", got)
		}
		close(slow)
		synctest.Wait()
		if got := r.taken(); len(got) != 4 {
			t.Errorf("delivered %v", got)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

func TestARemovedHookIsToldNothingMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, log, kept, ctx := &receiver{}, newLog(), &webtest.Records{}, context.Background()
		d, stop := desk(t, kept, r, log)
		defer stop()
		h, _ := add(t, d, 0)
		r.answer = func(*http.Request, string) int { return 410 }
		log.add("a.x")
		synctest.Wait()
		if _, at, _ := d.Get(ctx, h.ID); at.GivenUp != 1 {
			t.Errorf("after 410 Gone: %+v", at)
		}
		if err := d.Remove(ctx, h.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		log.add("a.y")
		time.Sleep(time.Hour)
		if len(r.tries) != 1 {
			t.Errorf("%d deliveries", len(r.tries))
		}
		if err := d.Remove(ctx, h.ID); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
		for _, shelf := range []string{"hooks", "hook-positions", "hook-deliveries"} {
			if err := kept.Records(ctx, shelf, "", "~", 10, false, func(key string, _ []byte) error { return errors.New(key) }); err != nil {
				t.Errorf("%s is left on shelf %s", err, shelf)
			}
		}
	})
}

func TestWhatCannotBeAHook(t *testing.T) {
	d, err := hooks.New(hooks.Config{Store: &webtest.Records{}, Vault: webtest.Vault{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), HTTP: hooks.NewClient()})
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"", "receiver.example", "ftp://receiver.example", "http://", "https://a:b@receiver.example", "https://receiver.example/#x", "https://x/" + strings.Repeat("y", 2048)} {
		if _, _, err := d.Add(context.Background(), wrong, nil, 0, ""); err == nil {
			t.Errorf("%.60q passes", wrong)
		}
	}
	for _, wrong := range []string{"", "Operation.*", "a b", "*.applied\n"} {
		if _, _, err := d.Add(context.Background(), "https://receiver.example", []string{wrong}, 0, ""); err == nil {
			t.Errorf("%q passes", wrong)
		}
	}
	for range 32 {
		add(t, d, 0)
	}
	if _, _, err := d.Add(context.Background(), "https://receiver.example", nil, 0, ""); err == nil {
		t.Error("a 33rd hook passes")
	}
}

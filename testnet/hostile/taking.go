package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// wantWhatIsNotMine compares, and asks for documents in which the member has no part. An answer that has anything of one is told.
func wantWhatIsNotMine(ctx context.Context, m *Member, o *Orders) error {
	secret := m.secret(o)
	if secret == nil {
		return errNothing
	}
	open := opening(m.noise)
	lists := message{1: 4, 6: true}
	b, err := m.send(ctx, m.victim(), compares, open.frame(), lists.frame(), wanting(secret.id).frame(), message{1: 10}.frame())
	if err != nil {
		return ignore(err)
	}
	return o.leaks(b)
}

// leaks says that an answer holds something that is the honest sites' alone.
func (o *Orders) leaks(b []byte) error {
	for _, s := range o.Secrets {
		if i := strings.Index(string(b), s.Content); i >= 0 {
			return fmt.Errorf("%w: %.200q", errGained, b[max(0, i-100):])
		}
	}
	return nil
}

// blobsOfOthers asks for the body of an operation that it has no part in, and for what there cannot be.
func blobsOfOthers(ctx context.Context, m *Member, o *Orders) error {
	secret := m.secret(o)
	if secret == nil {
		return errNothing
	}
	hash := sha256.Sum256([]byte(secret.about.Key))
	for _, size := range []int64{1 << 20, math.MaxInt64, 0, -1} {
		request := map[int]any{1: secret.id, 2: engine.BlobRef{Hash: engine.BlobHash(hex.EncodeToString(hash[:])), Size: size}, 3: int64(m.chance(3) - 1), 4: true}
		b, err := m.send(ctx, m.victim(), blobs, frame(engine.Encode(request)))
		if shut(err) {
			return err
		}
		if err := o.leaks(b); err != nil {
			return err
		}
	}
	return nil
}

// earlyStatuses tells of documents that nobody has.
func earlyStatuses(ctx context.Context, m *Member, _ *Orders) error {
	var list [][]byte
	for range 1000 {
		id := make([]byte, 32)
		m.noise(id)
		list = append(list, engine.Encode(&engine.Status{Document: engine.DocumentID(hex.EncodeToString(id)), Number: 1, At: 1,
			Summary: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)}))
	}
	_, err := m.send(ctx, m.victim(), letters, letterFrame(&engine.Letter{Batches: []engine.StatusBatch{m.docs.SignStatuses(list)}}))
	return ignore(err)
}

// wrongClock pretends to another time from now on, to all or to one site alone, which it meets so that it is asked.
func wrongClock(ctx context.Context, m *Member, _ *Orders) error {
	off := []time.Duration{0, 30 * time.Minute, -30 * time.Minute, 50_000 * time.Hour, -50_000 * time.Hour}[m.chance(5)]
	to := m.victim()
	alone := m.chance(2) == 0
	m.mu.Lock()
	m.clock, m.misled = off, ""
	if alone {
		m.misled = to.id
	}
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return ignore(m.host.Connect(ctx, to.at))
}

// strangers knock with keys that nobody has let in, and wrong secrets.
func strangers(ctx context.Context, m *Member, o *Orders) error {
	b := frame(engine.Encode(map[int]any{1: "x", 2: make([]byte, 32), 3: engine.SiteRecord{Name: "nantes"}}))
	answer, err := m.send(ctx, m.victim(), joins, b)
	if err != nil {
		return ignore(err)
	}
	return o.leaks(answer)
}

// strangeRequests asks other agents as no agent does.
func strangeRequests(ctx context.Context, m *Member, o *Orders) error {
	to := m.victim()
	secret := "x"
	if len(o.Secrets) > 0 {
		secret = o.Secrets[m.chance(len(o.Secrets))].Resource
	}
	heads := []string{
		"GET /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Via: " + string(m.id) + strings.Repeat(","+string(m.id), 300),
		"GET /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Placement: " + strings.Repeat(string(to.id)+";", 400),
		"GET /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Aggregate: " + strings.Repeat(string(to.id)+",", 400),
		"GET /images/" + secret + " HTTP/1.1\r\nHost: x\r\nSkerry-Service: nonsense",
		"PATCH /images/" + secret + " HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nSkerry-Operation: not an identifier\r\nContent-Length: 2",
		"POST /images HTTP/1.1\r\nHost: x\r\nSkerry-Service: images\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
		"GET /api/v1/" + strings.Repeat("x/", 1000) + " HTTP/1.1\r\nHost: x",
		"CONNECT x:1 HTTP/1.1\r\nHost: x\r\nSkerry-Service: images",
		"GET /images HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 2<<20),
		"PRI * HTTP/2.0\r\n\r\nSM",
	}
	b, err := m.send(ctx, to, requests, []byte(heads[m.chance(len(heads))]+"\r\n\r\n{}"))
	if err != nil && len(b) == 0 {
		return ignore(err)
	}
	return nil
}

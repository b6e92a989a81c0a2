package p2p

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/engine"
)

const (
	topicPrefix = "/skerry/placement/1/"
	// maxTopics is how many placements this site gossips in at once; the one unused for longest gives way.
	maxTopics = 256
	// topicIdle is how long a placement may be silent before this site leaves its topic: nothing may have it any more.
	topicIdle = 10 * time.Minute
	// maxAnnounced is how many topics one member may say it is in.
	maxAnnounced = 2048
	// meshSites is up to how many sites of a placement everyone is in everyone's gossip mesh, so that a member
	// outside it is not in yet and gets a hint.
	meshSites = 12
	// With shorter queues a burst loses most of its messages.
	gossipQueue       = 4096
	subscriptionQueue = 8192
)

// topics are the gossip topics of this site, one for each placement it published to.
type topics struct {
	n      *Network
	pubsub *pubsub.PubSub
	wg     sync.WaitGroup // the readers of the topics

	mu        sync.Mutex // never held while pubsub is called
	joined    map[string]*topic
	announced map[peer.ID]map[string]bool // by other members
}

type topic struct {
	topic  *pubsub.Topic
	cancel func()
	sites  map[peer.ID]bool // the placement
	mesh   map[peer.ID]bool // who gets what this site publishes
	used   time.Time        // when something was last said in it, by this site or another
}

// topicName is the digest of the sorted placement.
func topicName(placement []engine.SiteID) string {
	h := sha256.New()
	for _, site := range placement {
		h.Write([]byte(site))
		h.Write([]byte{0})
	}
	return topicPrefix + hex.EncodeToString(h.Sum(nil))
}

// newTopics starts gossip, which ends with ctx.
func newTopics(ctx context.Context, n *Network) (*topics, error) {
	t := &topics{n: n, joined: map[string]*topic{}, announced: map[peer.ID]map[string]bool{}}
	ps, err := pubsub.NewGossipSub(ctx, memberHost{n.host, n},
		pubsub.WithMaxMessageSize(maxHint),
		pubsub.WithPeerOutboundQueueSize(gossipQueue),
		pubsub.WithValidateQueueSize(gossipQueue),
		pubsub.WithValidateWorkers(1), // more would change the order of messages
		// Flood publishing and IHAVE heed no peer filter. The first would reach any member that says it is in the topic.
		pubsub.WithFloodPublish(false),
		pubsub.WithPeerExchange(false),
		pubsub.WithPeerFilter(t.admits),
		pubsub.WithSubscriptionFilter(t),
		pubsub.WithRawTracer(tracer{t}),
		pubsub.WithLogger(n.log),
		pubsub.WithRPCLogger(n.log))
	if err != nil {
		return nil, fmt.Errorf("start gossip: %w", err)
	}
	t.pubsub = ps
	return t, nil
}

func (t *topics) wait() { t.wg.Wait() }

// publish gossips an encoded envelope and returns the members of the placement that gossip would not reach now.
func (t *topics) publish(ctx context.Context, placement []engine.SiteID, b []byte) []engine.SiteID {
	placement = slices.Compact(slices.Sorted(slices.Values(placement)))
	others := slices.DeleteFunc(slices.Clone(placement), func(s engine.SiteID) bool { return s == t.n.self })
	// With one other site there is nothing to relay.
	if len(others) < 2 || len(others) == len(placement) {
		return others
	}
	name := topicName(placement)
	top, err := t.join(ctx, name, placement)
	if err != nil {
		t.n.log.Warn("a topic was not joined", "err", err)
		return others
	}
	listed := top.topic.ListPeers()
	t.mu.Lock()
	direct := slices.DeleteFunc(others, func(s engine.SiteID) bool {
		p, err := peerOf(s)
		return err != nil || top.mesh[p] || (len(placement) > meshSites && slices.Contains(listed, p))
	})
	t.mu.Unlock()
	if len(direct) == len(placement)-1 {
		return direct // no one is in the topic
	}
	if err := top.topic.Publish(ctx, b); err != nil {
		t.n.log.Warn("a change was not gossiped", "err", err)
		return others
	}
	return direct
}

// join returns the topic of a placement. Only the publishing goroutine calls it.
func (t *topics) join(ctx context.Context, name string, placement []engine.SiteID) (*topic, error) {
	t.mu.Lock()
	if top := t.joined[name]; top != nil {
		top.used = time.Now()
		t.mu.Unlock()
		return top, nil
	}
	var oldest string
	if len(t.joined) >= maxTopics {
		for name, top := range t.joined {
			if oldest == "" || top.used.Before(t.joined[oldest].used) {
				oldest = name
			}
		}
	}
	top := &topic{sites: map[peer.ID]bool{}, mesh: map[peer.ID]bool{}, used: time.Now()}
	for _, site := range placement {
		if p, err := peerOf(site); err == nil {
			top.sites[p] = true
		}
	}
	t.joined[name] = top
	t.mu.Unlock()
	if oldest != "" {
		t.leave(oldest)
	}
	err := t.subscribe(ctx, name, top)
	if err != nil {
		t.mu.Lock()
		delete(t.joined, name)
		t.mu.Unlock()
		return nil, fmt.Errorf("join topic: %w", err)
	}
	return top, nil
}

func (t *topics) subscribe(ctx context.Context, name string, top *topic) error {
	if err := t.pubsub.RegisterTopicValidator(name, t.validate, pubsub.WithValidatorInline(true)); err != nil {
		return err
	}
	var err error
	if top.topic, err = t.pubsub.Join(name); err != nil {
		return errors.Join(err, t.pubsub.UnregisterTopicValidator(name))
	}
	sub, err := top.topic.Subscribe(pubsub.WithBufferSize(subscriptionQueue))
	if err != nil {
		return errors.Join(err, top.topic.Close(), t.pubsub.UnregisterTopicValidator(name))
	}
	done := make(chan struct{})
	t.wg.Go(func() {
		defer close(done)
		t.read(ctx, top, sub)
	})
	top.cancel = func() {
		sub.Cancel()
		<-done
	}
	return nil
}

// leaveUnused leaves the topics in which nothing was said for a while. Only the publishing goroutine calls it.
func (t *topics) leaveUnused() {
	t.mu.Lock()
	var unused []string
	for name, top := range t.joined {
		if time.Since(top.used) > topicIdle {
			unused = append(unused, name)
		}
	}
	t.mu.Unlock()
	for _, name := range unused {
		t.leave(name)
	}
}

func (t *topics) leave(name string) {
	t.mu.Lock()
	top := t.joined[name]
	delete(t.joined, name)
	t.mu.Unlock()
	if top == nil || top.cancel == nil {
		return
	}
	top.cancel()
	if err := errors.Join(top.topic.Close(), t.pubsub.UnregisterTopicValidator(name)); err != nil {
		t.n.log.Warn("a topic was not left", "err", err)
	}
}

// read takes in what arrives in one topic.
func (t *topics) read(ctx context.Context, top *topic, sub *pubsub.Subscription) {
	for {
		m, err := sub.Next(ctx)
		if err != nil {
			return
		}
		e, ok := m.ValidatorData.(engine.Envelope)
		if !ok || m.Local || m.ReceivedFrom == t.n.host.ID() {
			continue
		}
		t.mu.Lock()
		top.used = time.Now()
		t.mu.Unlock()
		j := job{from: siteOf(m.ReceivedFrom), author: siteOf(m.GetFrom()), envelope: e}
		if !t.n.in.offer(j) {
			t.n.counters.dropped.Add(1)
			if l := t.n.link(j.from); l != nil {
				l.repair.compare()
			}
		}
	}
}

// validate admits what one site of the placement signed and another (or the same) passed on, if it decodes.
func (t *topics) validate(_ context.Context, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
	self := t.n.host.ID()
	if from == self && m.GetFrom() == self {
		return pubsub.ValidationAccept
	}
	if !t.admits(from, m.GetTopic()) || !t.admits(m.GetFrom(), m.GetTopic()) {
		return pubsub.ValidationReject
	}
	e, err := decodeEnvelope(m.Data)
	if err != nil {
		t.n.refuse(siteOf(m.GetFrom()), fmt.Errorf("gossip: %w", err))
		return pubsub.ValidationReject
	}
	m.ValidatorData = e
	return pubsub.ValidationAccept
}

// admits is the peer filter: a topic this site is in belongs to the members in its placement.
func (t *topics) admits(p peer.ID, name string) bool {
	if p != t.n.host.ID() && !t.n.gater.member(p) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	top := t.joined[name]
	return top != nil && top.sites[p]
}

// CanSubscribe and FilterIncomingSubscriptions implement pubsub.SubscriptionFilter. A member may be in a topic
// before this site is; it is not admitted to anything by that.
func (t *topics) CanSubscribe(name string) bool { return strings.HasPrefix(name, topicPrefix) }

func (t *topics) FilterIncomingSubscriptions(p peer.ID, subs []*pb.RPC_SubOpts) ([]*pb.RPC_SubOpts, error) {
	if !t.n.gater.member(p) {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	announced := t.announced[p]
	if announced == nil {
		announced = map[string]bool{}
		t.announced[p] = announced
	}
	var admitted []*pb.RPC_SubOpts
	for _, sub := range subs {
		name := sub.GetTopicid()
		if len(name) != len(topicPrefix)+2*sha256.Size || !strings.HasPrefix(name, topicPrefix) {
			continue
		}
		if top := t.joined[name]; top != nil && !top.sites[p] {
			continue
		}
		if !sub.GetSubscribe() {
			delete(announced, name)
		} else if announced[name] || len(announced) < maxAnnounced {
			announced[name] = true
		} else {
			continue
		}
		admitted = append(admitted, sub)
	}
	return admitted, nil
}

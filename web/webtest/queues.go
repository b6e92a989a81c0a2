package webtest

import (
	"fmt"
	"maps"
	"time"

	"github.com/skerry/skerry/engine"
)

// SetQueue says how the requests to a service get on.
func (s *Site) SetQueue(service engine.ServiceName, q engine.QueueStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[service] = q
}

// Queues implements api.Operator.
func (s *Site) Queues() map[engine.ServiceName]engine.QueueStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.queues)
}

// Shared implements api.Operator: each other site shares ten resources with this one.
func (s *Site) Shared() map[engine.SiteID]engine.Shared {
	shared := map[engine.SiteID]engine.Shared{}
	for id := range s.Status() {
		shared[id] = engine.Shared{Resources: 10, Refused: 1, Forks: 2, Bodies: 3 << 20}
	}
	return shared
}

// NextTry implements api.Operator.
func (s *Site) NextTry(o engine.OperationRow) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues[o.Service].Next
}

// ResumeQueue implements api.Operator.
func (s *Site) ResumeQueue(service engine.ServiceName) error {
	if err := s.fault("ResumeQueue"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.queues[service]; !ok && service != "" {
		return fmt.Errorf("resume service %s: %w", service, engine.ErrNotFound)
	}
	for name := range s.queues {
		if service == "" || service == name {
			s.queues[name] = engine.QueueStatus{State: engine.QueueRunning, Since: s.Clock()}
		}
	}
	return nil
}

package storage

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// What is known by site is a list in the order of the row's placement, which has the names of the sites. Of each there are the
// fields that are something, after a number that says which: a bit for each. A bit is never given to another field, and a
// letter never to another state.

var stateLetters = map[engine.State]string{
	engine.StatePending: "p", engine.StateApplied: "a", engine.StateRejected: "r", engine.StateSuperseded: "s",
	engine.StateUncertain: "u", engine.StatePaused: "z", engine.StateHeld: "h", engine.StateLeft: "l",
	engine.StateConverged: "c", engine.StateConverging: "g", engine.StateDegraded: "d", engine.StateConflict: "x",
	engine.StateDeleted: "e", engine.StateDeleting: "i", engine.StateLeaving: "v",
}

var letterStates = func() map[string]engine.State {
	states := map[string]engine.State{}
	for state, letter := range stateLetters {
		states[letter] = state
	}
	return states
}()

// spelled begins a state that has no letter.
const spelled = "="

// appendState writes a state's letter, or the state where it has none.
func appendState(b []byte, s engine.State) []byte {
	if letter, ok := stateLetters[s]; ok {
		return appendText(b, letter)
	}
	return appendText(b, spelled+s)
}

func (p *parser) state() engine.State {
	text := p.bytes()
	if s, ok := letterStates[string(text)]; ok {
		return s
	}
	s, ok := strings.CutPrefix(string(text), spelled)
	if !ok {
		p.fail()
	}
	return engine.State(s)
}

// fields writes those of one site.
type fields struct {
	is  uint64 // which there are
	all []byte
}

func (f *fields) text(bit int, s string) {
	if s != "" {
		f.is, f.all = f.is|1<<bit, appendText(f.all, s)
	}
}

func (f *fields) number(bit int, n int64) {
	if n != 0 {
		f.is, f.all = f.is|1<<bit, binary.AppendVarint(f.all, n)
	}
}

func (f *fields) flag(bit int, yes bool) {
	if yes {
		f.is |= 1 << bit
	}
}

// end adds them to b and begins anew.
func (f *fields) end(b []byte) []byte {
	b = append(binary.AppendUvarint(b, f.is), f.all...)
	f.is, f.all = 0, f.all[:0]
	return b
}

// encodeBySite encodes what is known of something at sites; nil for none. Each writes the fields of one of them, and returns its state.
func encodeBySite[T any](room *rowRoom, sites []engine.SiteID, by map[engine.SiteID]T, each func(*fields, T) engine.State) []byte {
	if len(sites) == 0 {
		return nil
	}
	before := len(room.bytes)
	for _, site := range sites {
		state := each(&room.fields, by[site])
		room.bytes = room.fields.end(appendState(room.bytes, state))
	}
	return room.since(before)
}

// decodeBySite decodes what encodeBySite has made for the same sites.
func decodeBySite[T any](sites []engine.SiteID, b []byte, each func(*parser) T) (map[engine.SiteID]T, error) {
	if len(sites) == 0 {
		return nil, nil
	}
	by := make(map[engine.SiteID]T, len(sites))
	p := parser{rest: b}
	for _, site := range sites {
		by[site] = each(&p)
	}
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("status by site: %w", err)
	}
	return by, nil
}

// replica writes what is known of a replica.
func (f *fields) replica(s engine.ReplicaStatus) engine.State {
	f.text(0, string(s.Local))
	f.number(1, int64(s.Applied))
	f.number(2, int64(s.Pending))
	f.text(3, s.Reason)
	f.flag(4, s.Unmade)
	f.flag(5, s.Held)
	f.flag(6, s.Drifted)
	f.flag(7, s.Mismatch)
	f.number(8, int64(s.Part))
	if p := s.Paused; p != nil {
		f.is |= 1 << 9
		f.all = appendText(binary.AppendVarint(appendText(f.all, p.By), nanos(p.At)), p.Reason)
	}
	if len(s.Share) > 0 {
		f.is |= 1 << 10
		f.all = binary.AppendUvarint(f.all, uint64(len(s.Share)))
		for _, path := range slices.Sorted(maps.Keys(s.Share)) {
			f.all = appendText(appendText(f.all, path), s.Share[path])
		}
	}
	return s.State
}

func (p *parser) replica() engine.ReplicaStatus {
	s := engine.ReplicaStatus{State: p.state()}
	is := p.uint()
	has := func(bit int) bool { return is&(1<<bit) != 0 }
	if has(0) {
		s.Local = engine.LocalID(p.text())
	}
	if has(1) {
		s.Applied = int(p.int())
	}
	if has(2) {
		s.Pending = int(p.int())
	}
	if has(3) {
		s.Reason = p.text()
	}
	s.Unmade, s.Held, s.Drifted, s.Mismatch = has(4), has(5), has(6), has(7)
	if has(8) {
		s.Part = int(p.int())
	}
	if has(9) {
		s.Paused = &engine.Pause{By: engine.SiteName(p.text()), At: instant(p.int()), Reason: p.text()}
	}
	if has(10) {
		n := p.length()
		s.Share = make(map[engine.Pointer]json.RawMessage, n)
		for range n {
			path := engine.Pointer(p.text())
			s.Share[path] = json.RawMessage(p.text())
		}
	}
	return s
}

// status writes what is known of an operation.
func (f *fields) status(s engine.OperationStatus) engine.State {
	f.number(0, int64(s.Status))
	f.number(1, nanos(s.At))
	f.number(2, int64(s.Attempts))
	f.text(3, s.Error)
	f.number(4, s.Fetched)
	if len(s.Tries) > 0 {
		f.is |= 1 << 5
		f.all = binary.AppendUvarint(f.all, uint64(len(s.Tries)))
		for _, t := range s.Tries {
			f.all = appendText(binary.AppendVarint(binary.AppendVarint(f.all, nanos(t.At)), int64(t.Status)), t.Error)
		}
	}
	f.text(6, string(s.As))
	return s.State
}

func (p *parser) status() engine.OperationStatus {
	s := engine.OperationStatus{State: p.state()}
	is := p.uint()
	has := func(bit int) bool { return is&(1<<bit) != 0 }
	if has(0) {
		s.Status = int(p.int())
	}
	if has(1) {
		s.At = instant(p.int())
	}
	if has(2) {
		s.Attempts = int(p.int())
	}
	if has(3) {
		s.Error = p.text()
	}
	if has(4) {
		s.Fetched = p.int()
	}
	if has(5) {
		s.Tries = make([]engine.Attempt, p.length())
		for i := range s.Tries {
			s.Tries[i] = engine.Attempt{At: instant(p.int()), Status: int(p.int()), Error: p.text()}
		}
	}
	if has(6) {
		s.As = engine.As(p.text())
	}
	return s
}

package engine

import "time"

// Attempt is one request that a site has sent to its application for an operation, and what came of it.
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"` // of the answer; 0: none came
	Error  string    `json:"error,omitempty"`
}

// keptAttempts are remembered of one operation, the last ones: of what is tried for weeks the newest tell enough.
const keptAttempts = 10

// attempts is what this site knows of its own tries of an operation; it is not published.
type attempts struct {
	count int
	kept  []Attempt // the last of them, oldest first, keptAttempts at most
	// joined says that those of earlier runs, or from before the view was loaded, are among them.
	joined bool
}

// last is the newest attempt.
func (a *attempts) last() Attempt { return a.kept[len(a.kept)-1] }

func (a *attempts) keep(before, after []Attempt) {
	all := append(before[:len(before):len(before)], after...)
	a.kept = all[max(0, len(all)-keptAttempts):]
}

// tried takes in what came of sending o to the application here.
func (v *view) tried(id OperationID, t Attempt) {
	a := v.attempts[id]
	if a == nil {
		a = &attempts{}
		v.attempts[id] = a
	}
	a.count++
	a.keep(a.kept, []Attempt{t})
}

// ended takes in an outcome that is no success, when a request to the application has led to it: it has answered, or gave no
// certain answer.
func (v *view) ended(id OperationID, out Outcome, at time.Time) {
	if out.Status != 0 || out.State == StateUncertain {
		v.tried(id, Attempt{at, out.Status, out.Error})
	}
}

// join puts the attempts that are on disk before those since the view was loaded.
func (a *attempts) join(stored OperationStatus) {
	if !a.joined {
		a.count += stored.Attempts
		a.keep(stored.Tries, a.kept)
		a.joined = true
	}
}

// tell puts the attempts into what is shown of the operation here. That one request was enough, the state tells.
func (a *attempts) tell(st *OperationStatus) {
	st.Attempts, st.Tries = a.count, a.kept
	if a.count == 1 && a.last().Error == "" {
		st.Tries = nil
	}
	if st.State == StateApplied && st.Status == 0 {
		st.Status = a.last().Status
	}
}

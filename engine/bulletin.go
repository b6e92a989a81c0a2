package engine

import "time"

// Bulletin is what a site tells all members of its own state, so that any of them can show the whole mesh: how much of it is in which
// state, and what waits for a person there. It has counts and names of services, and nothing of what is in resources or how they are called.
//
// Its size is bounded by the number of states and of services: a few hundred bytes. How often it is told is bounded by Every and Soon.
type Bulletin struct {
	// Resources and Operations count by state, without those of which there are none.
	Resources  map[State]int `cbor:"1,keyasint,omitempty"`
	Operations map[State]int `cbor:"2,keyasint,omitempty"`
	// Oldest is when the operation was issued that has waited longest to be applied everywhere, in Unix microseconds; zero: none waits.
	Oldest int64 `cbor:"3,keyasint,omitempty"`
	// Decisions is how many things at this site wait for a person.
	Decisions int `cbor:"4,keyasint,omitempty"`
	// Failing are the services of its application that do not answer, or do not let its agent in, sorted by name.
	Failing []FailingService `cbor:"5,keyasint,omitempty"`
	Version string           `cbor:"6,keyasint,omitempty"` // of the agent
	// Dashboard is where people find the site's own page; empty: not told.
	Dashboard string `cbor:"7,keyasint,omitempty"`
	// At is when it was made, in Unix microseconds.
	At int64 `cbor:"8,keyasint"`
}

// FailingService is a service to which a site's requests do not go out. Why is not told: that may hold what the application says.
type FailingService struct {
	Service ServiceName `cbor:"1,keyasint"`
	State   QueueState  `cbor:"2,keyasint"`
	Since   int64       `cbor:"3,keyasint,omitempty"` // in Unix microseconds; zero: not known
}

// Every is how long a site of a mesh of so many waits at least between two bulletins, and Soon how long where what waits for people has
// changed. Both grow with the mesh, so that of all sites together no more than two a second come to each, and twenty when all are in trouble.
func (Bulletin) Every(sites int) time.Duration {
	return max(30*time.Second, time.Duration(sites)*500*time.Millisecond)
}

// Soon is explained with Every.
func (Bulletin) Soon(sites int) time.Duration {
	return max(2*time.Second, time.Duration(sites)*50*time.Millisecond)
}

package engine

// A Fork is that a site has signed two different changes of one line under one number: one of them, or both, tell others something else than
// what it has told before. No honest site does that, since each run writes a line of its own. From that number on the line counts at no site,
// whatever was heard first, nor does it in later epochs; everything else stands.
type Fork struct {
	Line Line `cbor:"1,keyasint"`
	// Epoch and Number are those of the first change that does not count.
	Epoch  uint64 `cbor:"2,keyasint,omitempty"`
	Number uint64 `cbor:"3,keyasint"`
	// Stands says that the epoch was over when this site heard of the fork: what the line has written in it stays, and nothing after it counts.
	Stands bool `cbor:"4,keyasint,omitempty"`
	// At is when this site has heard of it, in Unix microseconds.
	At int64 `cbor:"5,keyasint,omitempty"`
}

// Voids reports whether a change of the line does not count.
func (f *Fork) Voids(epoch, number uint64) bool {
	return epoch > f.Epoch || epoch == f.Epoch && number >= f.Number && !f.Stands
}

// Before reports whether f is earlier than other: of two forks of one line the earlier counts.
func (f *Fork) Before(other *Fork) bool {
	return f.Epoch < other.Epoch || f.Epoch == other.Epoch && f.Number < other.Number
}

// ProvenFork is a fork with what proves it: two signed changes that cannot both be of one line. The second one has the number of the first, or
// the next one and follows another. They travel as changes do, and are checked as changes are.
type ProvenFork struct {
	Fork
	Document DocumentID
	Proof    [2]SignedChange
}

// Forks reports whether two changes of one document prove that their line is forked, at the number of c: both have it, or the other one has
// the next and follows another change than c.
func (c *Change) Forks(other *Change) bool {
	return c.Line == other.Line && c.Epoch == other.Epoch &&
		(other.Number == c.Number && other.Hash != c.Hash || other.Number == c.Number+1 && other.Previous != c.Hash)
}

package replica

// hold says what this site holds under the name, which is given to exactly one site: later than all that it knows to hold it.
func (r *Replica) hold(in *Hold) {
	h := in.Holding
	if !h.Gone {
		for site, other := range r.Holding() {
			if site != r.Self {
				h.At = max(h.At, other.At+1)
			}
		}
	}
	r.Me.Holding = &h
	r.Changed()
}

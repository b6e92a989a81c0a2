package replica

// Lacks says, for people, what the resource relies on and this site cannot reach; an empty Why: it lacks nothing.
type Lacks struct{ Why string }

func (*Lacks) input() {}

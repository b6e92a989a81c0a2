package site

import "github.com/skerry/skerry/engine"

// writes is the line that replicas write which are made from now on.
type writes struct {
	line  engine.Line
	begun int64 // when it began, in milliseconds
	given engine.Given
}

// begin begins one that nobody has written in: that of this run, or where documents were dropped, another one of this run. What it is called
// comes after what the ones before are called, and after a run: the clock may have been set back.
func (w *writes) begin(cfg Config, after string) {
	w.begun = max(w.begun+1, engine.Begun(after)+1, cfg.Now().UnixMilli())
	w.line = engine.LineOf(cfg.Self, engine.RunOf(w.begun, cfg.Members.Run()))
}

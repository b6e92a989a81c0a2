package script

import "strings"

// part is a stretch of a script: what is copied as it stands, then a command with its trace.
type part struct {
	before  string   // comments and blank lines
	command string   // empty at the end of a script
	block   []string // the indented lines below the command
}

const rule = "----"

// parse takes a script apart. Traces that stand in it are left out.
func parse(text string) []part {
	var parts []part
	var now part
	inTrace := false
	flush := func() {
		if now.command != "" {
			parts = append(parts, now)
			now = part{}
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		blank := strings.TrimSpace(line) == ""
		switch {
		case inTrace:
			if !blank {
				continue
			}
			inTrace = false
			flush()
			now.before = "\n"
		case line == rule:
			inTrace = true
		case now.command != "" && strings.HasPrefix(line, "  "):
			now.block = append(now.block, line)
		case blank || strings.HasPrefix(line, "#"):
			flush()
			now.before += line + "\n"
		default:
			flush()
			now.command = line
		}
	}
	flush()
	return append(parts, now)
}

// write puts a command with its trace into w.
func (p part) write(w *strings.Builder, trace []string) {
	w.WriteString(p.before)
	if p.command == "" {
		return
	}
	w.WriteString(p.command + "\n")
	for _, line := range p.block {
		w.WriteString(line + "\n")
	}
	if len(trace) == 0 {
		return
	}
	w.WriteString(rule + "\n")
	for _, line := range trace {
		w.WriteString(line + "\n")
	}
}

//go:build kubernetes

package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTables runs the scripts in testdata/tables, which say what unmodified kubectl shows at each site and what both clusters hold then.
//
//	site1 {site1 & site2} kubectl run purple --image=x    a command at a site, through its agent, with a scope or without one
//	site1 has pods                                        what the site's own cluster holds, past the agent: namespace/name of each
//	site1 alone kubectl get pod purple -o name            any command past the agent
//	both has pods                                         the same at each site
//	cut site2, heal site2
//
// What a command prints, on standard error too, follows in lines that begin with a right angle bracket; three dots at the end of a line
// stand for what depends on the version of kubectl or on the time. What reads is repeated until it shows that.
func TestTables(t *testing.T) {
	scripts, err := filepath.Glob("testdata/tables/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	versions := map[string]string{"": filepath.Join(programs, "kubectl"), "/older": filepath.Join(older, "kubectl")}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for version, kubectl := range versions {
			t.Run(strings.TrimSuffix(filepath.Base(script), ".txt")+version, func(t *testing.T) {
				t.Parallel()
				table{text: string(text), file: script, kubectl: kubectl}.run(t)
			})
		}
	}
}

// table is one script.
type table struct{ text, file, kubectl string }

// step is one command of it.
type step struct {
	line        int
	at, command string
	wants       []string
}

func (tb table) steps(t *testing.T) (all []step) {
	t.Helper()
	for i, line := range strings.Split(tb.text, "\n") {
		switch want, output := strings.CutPrefix(line, "> "); {
		case output && len(all) > 0:
			all[len(all)-1].wants = append(all[len(all)-1].wants, want)
		case line == "" || strings.HasPrefix(line, "#"):
		default:
			at, command, ok := strings.Cut(line, " ")
			if !ok || output {
				t.Fatalf("%s:%d: %q is no command", tb.file, i+1, line)
			}
			all = append(all, step{line: i + 1, at: at, command: command})
		}
	}
	return all
}

func (tb table) run(t *testing.T) {
	e, all := sites(t, "site1", "site2")
	for _, st := range tb.steps(t) {
		switch st.at {
		case "cut":
			e.Site(st.command).Cut(t)
			apart(t, e, all)
		case "heal":
			e.Site(st.command).Heal(t)
		default:
			for _, s := range all {
				if st.at != s.Name() && st.at != "both" {
					continue
				}
				e.Eventually(t, within, fmt.Sprintf("%s:%d: %s: %s", tb.file, st.line, s.Name(), st.command), func() error {
					out, reads := tb.shows(s, st.command)
					err := st.matches(out)
					if err != nil && !reads {
						t.Fatalf("%s:%d: %s %s: %v", tb.file, st.line, st.at, st.command, err)
					}
					return err
				})
			}
		}
	}
	converged(t, e, all)
}

// shows runs a command at a site, and reports whether it only reads.
func (tb table) shows(s *site, command string) (out string, reads bool) {
	config, scope := "agent.yaml.kube", ""
	if kinds, ok := strings.CutPrefix(command, "has "); ok {
		list, _ := s.object(strings.Fields(kinds)...)["items"].([]any)
		for _, o := range list {
			out += fmt.Sprintf("%v/%v ", at(o, "metadata", "namespace"), at(o, "metadata", "name"))
		}
		return out, true
	}
	if rest, ok := strings.CutPrefix(command, "alone "); ok {
		config, command = "direct.yaml", rest
	}
	if rest, ok := strings.CutPrefix(command, "{"); ok {
		scope, command, _ = strings.Cut(rest, "} ")
	}
	argv := []string{"sh", "-c", `exec 2>&1; kubectl() { "$KUBECTL" "$@"; }; ` + command}
	if scope != "" {
		argv = append([]string{program, "--api", "http://" + s.Config().API, "exec", "--scope", scope, "--service", "cluster", "--"}, argv...)
	}
	out, _ = s.run(config, "", append([]string{"env", "KUBECTL=" + tb.kubectl}, argv...)...) // what it says tells whether it has failed
	return out, strings.HasPrefix(command, "kubectl get ")
}

// matches compares what a command has printed.
func (st step) matches(out string) error {
	lines := strings.Split(strings.TrimRight(out, " \n"), "\n")
	if out == "" {
		lines = nil
	}
	same := len(lines) == len(st.wants)
	for i := 0; same && i < len(lines); i++ {
		begin, open := strings.CutSuffix(st.wants[i], "...")
		same = lines[i] == st.wants[i] || open && strings.HasPrefix(lines[i], begin)
	}
	if !same {
		return fmt.Errorf("it prints\n%s\nand not\n%s", out, strings.Join(st.wants, "\n"))
	}
	return nil
}

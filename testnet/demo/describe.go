package demo

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// describe prints where everything is and what can be tried.
func describe(out io.Writer, dir string, a *application, members []*member, links []string, replaced []string, fresh bool) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "SITE\tDASHBOARD\t%s\n", strings.ToUpper(strings.Join(a.services, "\t")))
	for _, m := range members {
		fmt.Fprintf(w, "%s\thttp://%s/", m.config.Name, m.config.API)
		for _, s := range m.config.Services {
			scheme := "http"
			if s.TLS != [2]string{} {
				scheme = "https"
			}
			fmt.Fprintf(w, "\t%s://%s", scheme, s.Listen)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // as with every line printed here, there is nobody to tell when the terminal is gone
	fmt.Fprintln(out, "\nOne of these opens a page in a browser of another account or in a container, once, within ten minutes:")
	for _, l := range links { // not indented, as commands are
		fmt.Fprintln(out, l)
	}
	for _, r := range replaced {
		fmt.Fprintln(out, "note: "+r)
	}
	kept := "kept"
	if fresh {
		kept = "removed at the end"
	}
	fmt.Fprintf(out, "\nData in %s (%s), logs in %s\n", dir, kept, filepath.Join(dir, "*", "*.log"))
	for i, s := range steps(a, members, program()) {
		fmt.Fprintf(out, "\n%d. %s\n\n", i+1, s.what)
		for _, line := range strings.Split(s.commands, "\n") {
			fmt.Fprintln(out, "    "+line)
		}
	}
	fmt.Fprintln(out, "\nRunning; end it with Ctrl-C.")
}

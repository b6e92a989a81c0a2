package demo

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/skerry/skerry/testnet/lab"
)

// describe prints where everything is and what can be tried.
func describe(out io.Writer, dir string, members []*member, replaced []string, fresh bool) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "SITE\tDASHBOARD\tIMAGES\tNETWORKS\tSERVERS")
	for _, m := range members {
		fmt.Fprintf(w, "%s\thttp://%s/", m.config.Name, m.config.API)
		for _, s := range m.config.Services {
			fmt.Fprintf(w, "\thttp://%s", s.Listen)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // as with every line printed here, there is nobody to tell when the terminal is gone
	for _, r := range replaced {
		fmt.Fprintln(out, "note: "+r)
	}
	kept := "kept"
	if fresh {
		kept = "removed at the end"
	}
	fmt.Fprintf(out, "\nData in %s (%s), logs in %s\n", dir, kept, filepath.Join(dir, "*", "*.log"))
	for i, s := range steps(members) {
		fmt.Fprintf(out, "\n%d. %s\n\n", i+1, s.what)
		for _, line := range strings.Split(s.commands, "\n") {
			fmt.Fprintln(out, "    "+line)
		}
	}
	fmt.Fprintln(out, "\nRunning; end it with Ctrl-C.")
}

// step is one thing to try.
type step struct{ what, commands string }

// steps is the walk-through, as far as there are sites for it. Its commands can be pasted one after the other.
func steps(members []*member) []step {
	images := func(i int) string { return "http://" + members[i].service(lab.Images).Listen + "/images" }
	const json, merge = "-H 'Content-Type: application/json'", "-H 'Content-Type: application/merge-patch+json'"
	if len(members) < 2 {
		return []step{{"Create an image here: without a scope a request goes to the application as it is.",
			fmt.Sprintf("curl -s %s -d '{\"name\":\"debian\"}' %s", json, images(0))}}
	}
	a, b := members[0].config.Name, members[1].config.Name
	scope := fmt.Sprintf("-H 'Scope: {images: %s & %s}'", a, b)
	all := []step{
		{fmt.Sprintf("Create an image at two sites, %s and %s. Its identifier is the same at both.", a, b),
			fmt.Sprintf("ID=$(curl -s %s %s -d '{\"name\":\"debian\"}' %s | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/'); echo $ID", scope, json, images(0))},
		{"Read it at both.",
			fmt.Sprintf("curl -s %s/$ID; echo\ncurl -s %s/$ID; echo", images(0), images(1))},
	}
	if len(members) > 2 {
		all = append(all, step{fmt.Sprintf("Read it from %s, which has no copy: the scope says where to look.", members[2].config.Name),
			fmt.Sprintf("curl -s %s %s/$ID; echo", scope, images(2))})
	}
	return append(all,
		step{fmt.Sprintf("Cut %s off.", b), fmt.Sprintf("%s demo cut %s\n%s demo status", program(), b, program())},
		step{"Change it on both sides of the cut: neither waits for the other.",
			fmt.Sprintf("curl -s -X PUT %s -d '{\"name\":\"debian\",\"description\":\"from %s\"}' %s/$ID; echo\n"+
				"curl -s -X PATCH %s -d '{\"status\":\"checked at %s\"}' %s/$ID; echo", json, a, images(0), merge, b, images(1))},
		step{fmt.Sprintf("See what is pending, and for whom, as %s knows it; the dashboards show the same.", a),
			fmt.Sprintf("%s --api http://%s resources\n%s --api http://%s operations", program(), members[0].config.API, program(), members[0].config.API)},
		step{"End the cut and see both changes at both sites, here and on the dashboards.",
			fmt.Sprintf("%s demo heal %s\nsleep 5\ncurl -s %s/$ID; echo\ncurl -s %s/$ID; echo", program(), b, images(0), images(1))},
	)
}

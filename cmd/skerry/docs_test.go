package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var (
	// inDocs finds command lines of the program: at the beginning of a line of code, after what a shell may have before a command, and in inline code.
	inDocs = regexp.MustCompile("(?m)(?:^|`|\\$\\(|; |&& |\\| |(?:^|; )(?:until|while|if) )[ ]*(?:\\$ |sudo )?skerry ([a-z][^`\n]*)")
	// wholly finds those that stand in a block of code, with all that they need.
	wholly = regexp.MustCompile(`(?m)^(?:    )?(?:\$ |sudo )?skerry ([a-z].*)$`)
	// usage finds what the reference says of how a command is called.
	usage = regexp.MustCompile(`(?m)^    skerry .*(?:\[options\]|<|COMMAND).*$`)
	// word is a word of one, apart from what a shell does itself.
	word = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
)

// TestCommandsInDocsAreThere: no page names a command, an argument or a flag that the program does not have.
func TestCommandsInDocsAreThere(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found, whole := 0, 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../ARCHITECTURE.md", "../../docs/reference/commands.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(usage.ReplaceAllString(string(b), ""), "\\\n", " ")
		for _, m := range wholly.FindAllStringSubmatch(text, -1) {
			whole++
			if err := parses(t, words(m[1])); err != nil {
				t.Errorf("%s: skerry %s: %v", filepath.Base(page), m[1], err)
			}
		}
		for _, m := range inDocs.FindAllStringSubmatch(text, -1) {
			found++
			if err := known(t, words(m[1])); err != nil {
				t.Errorf("%s: skerry %s: %v", filepath.Base(page), m[1], err)
			}
		}
	}
	if found < 250 || whole < 200 {
		t.Errorf("only %d commands are found, %d of them whole", found, whole)
	}
	for _, wrong := range []string{"backup", "restore --config agent.yaml", "exec -- true --scope", "tokens add laptop --role emperor"} {
		if parses(t, words(wrong)) == nil {
			t.Errorf("skerry %s passes as a whole", wrong)
		}
	}
	for _, wrong := range []string{"sites docter", "resources list --nowhere", "conflicts resolve ID adopt more and more"} {
		if known(t, words(wrong)) == nil {
			t.Errorf("skerry %s passes", wrong)
		}
	}
}

// words are those of a command line, up to where another command, a file or a comment follows.
func words(line string) (list []string) {
	for _, w := range word.FindAllString(line, -1) {
		if strings.ContainsAny(w[:1], "|&;><#…()") || w == "2>" || w == "do" || w == "..." {
			break
		}
		end := strings.HasSuffix(w, ";") || strings.HasSuffix(w, ")")
		list = append(list, strings.Trim(strings.TrimRight(w, ";)"), `'"`))
		if end {
			break
		}
	}
	return list
}

// known says why the program does not know a command; what its arguments stand for is not looked at.
func known(t *testing.T, args []string) error {
	t.Helper()
	err := parses(t, args)
	if err != nil && (strings.Contains(err.Error(), "unknown flag") || strings.Contains(err.Error(), "unexpected argument") || strings.Contains(err.Error(), "expected one of")) {
		return err
	}
	return nil
}

// parses says why the program does not take a command, with all its flags and arguments. Files and folders that it names need not be there.
func parses(t *testing.T, args []string) error {
	t.Helper()
	anything := kong.MapperFunc(func(c *kong.DecodeContext, name reflect.Value) error { // none of those that pages name is there
		return c.Scan.PopValueInto("file", name.Addr().Interface())
	})
	k, err := kong.New(&commands{}, kong.Name("skerry"), kong.Writers(io.Discard, io.Discard), kong.Vars{"api": "http://127.0.0.1:8700"}, kong.Exit(func(int) {}),
		kong.NamedMapper("existingfile", anything), kong.NamedMapper("existingdir", anything))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse(args)
	return err
}

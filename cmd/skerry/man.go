package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

type manCommand struct {
	Folder   string `arg:"" type:"existingdir" help:"Where the pages go."`
	Markdown bool   `help:"Write them all as one page in Markdown, commands.md."`
}

func (manCommand) Help() string {
	return `Writes the pages of man(1): one for each command, and skerry.1. They say what --help says.

Examples:

    skerry man /usr/local/share/man/man1
    skerry man --markdown docs/reference`
}

func (c manCommand) Run(k *kong.Context) error {
	if c.Markdown {
		return os.WriteFile(filepath.Join(c.Folder, "commands.md"), []byte(markdown(k.Model)), 0o644)
	}
	return kong.Visit(k.Model, func(n kong.Visitable, next kong.Next) error {
		command, ok := n.(*kong.Node)
		switch app, is := n.(*kong.Application); {
		case is:
			command = app.Node
		case !ok || command.Hidden:
			return nil
		}
		if err := os.WriteFile(filepath.Join(c.Folder, pageName(command)+".1"), []byte(manPage(command)), 0o644); err != nil {
			return err
		}
		return next(nil)
	})
}

// pageName is what a command's page is called, as with git: skerry-sites-certify.
func pageName(n *kong.Node) string { return strings.Join(commandPath(n), "-") }

// commandPath are the words that a command is called by, without its arguments.
func commandPath(n *kong.Node) []string {
	if n.Parent == nil {
		return []string{n.Name}
	}
	return append(commandPath(n.Parent), n.Name)
}

// manPage is a command's page in the language of man(7).
func manPage(n *kong.Node) string {
	var b strings.Builder
	name := pageName(n)
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), roff(name), roff(short(n)))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(synopsis(n)))
	if text := strings.TrimSpace(long(n)); text != "" {
		b.WriteString(".SH DESCRIPTION\n")
		writeText(&b, text)
	}
	if len(n.Positional) > 0 {
		b.WriteString(".SH ARGUMENTS\n")
		for _, v := range n.Positional {
			writeTerm(&b, v.Summary(), v.Help)
		}
	}
	if flags := shownFlags(n); len(flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range flags {
			writeTerm(&b, f.String(), f.Help)
		}
	}
	var related []string
	if n.Parent != nil {
		related = append(related, pageName(n.Parent)+"(1)")
	}
	if commands := shownCommands(n); len(commands) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range commands {
			writeTerm(&b, strings.Join(commandPath(c)[1:], " "), c.Help)
			related = append(related, pageName(c)+"(1)")
		}
	}
	if len(related) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", roff(strings.Join(related, ", ")))
	}
	return b.String()
}

// short is what a command is for, in a line; long is the rest.
func short(n *kong.Node) string {
	line, _, _ := strings.Cut(n.Help, "\n")
	return strings.TrimSuffix(line, ".")
}

func long(n *kong.Node) string {
	_, rest, _ := strings.Cut(n.Help, "\n")
	return rest + "\n\n" + n.Detail
}

func synopsis(n *kong.Node) string {
	words := commandPath(n)
	if len(shownFlags(n)) > 0 {
		words = append(words, "[options]")
	}
	for _, v := range n.Positional {
		words = append(words, v.Summary())
	}
	if len(shownCommands(n)) > 0 {
		words = append(words, "COMMAND")
	}
	return strings.Join(words, " ")
}

func shownFlags(n *kong.Node) (flags []*kong.Flag) {
	for _, f := range n.Flags {
		if !f.Hidden {
			flags = append(flags, f)
		}
	}
	return flags
}

func shownCommands(n *kong.Node) (commands []*kong.Node) {
	for _, c := range n.Children {
		if !c.Hidden {
			commands = append(commands, c)
		}
	}
	return commands
}

// writeTerm writes what a term means.
func writeTerm(b *strings.Builder, term, meaning string) {
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(term), roff(strings.Join(strings.Fields(meaning), " ")))
}

// writeText writes paragraphs. Lines that are indented, such as examples, stay as they are.
func writeText(b *strings.Builder, text string) {
	for _, p := range strings.Split(text, "\n\n") {
		switch p = strings.Trim(p, "\n"); {
		case p == "":
		case strings.HasPrefix(p, " "):
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(p))
		default:
			fmt.Fprintf(b, ".PP\n%s\n", roff(p))
		}
	}
}

// roff is text as man(7) takes it: a backslash, and a dot or an apostrophe that begins a line, mean something there.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

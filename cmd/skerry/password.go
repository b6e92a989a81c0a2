package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// askPassword returns what is typed without showing it, or, when the input is no terminal, its first line.
func (p *program) askPassword(prompt string) (string, error) {
	if f, ok := p.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(p.errs, prompt+": ")
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.errs)
		return string(b), err
	}
	line, err := bufio.NewReader(io.LimitReader(p.in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", usagef("no password came on standard input")
	}
	return line, nil
}

// askNewPassword asks twice at a terminal.
func (p *program) askNewPassword() (string, error) {
	password, err := p.askPassword("New password")
	if f, ok := p.in.(*os.File); err != nil || !ok || !term.IsTerminal(int(f.Fd())) {
		return password, err
	}
	again, err := p.askPassword("The same again")
	if err == nil && again != password {
		err = errors.New("the two passwords differ; nothing was changed")
	}
	return password, err
}

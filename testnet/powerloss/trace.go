package powerloss

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Calls are the system calls that a trace has to hold: those that change files and names, and sync them.
var Calls = []string{
	"openat", "open", "creat", "write", "pwrite64", "writev", "pwritev", "pwritev2", "fsync", "fdatasync", "ftruncate", "truncate",
	"unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "mkdir", "mkdirat", "fallocate", "copy_file_range", "sendfile",
}

// Command returns what runs a program with its trace written to a file. The program has the process that is started; strace
// is beside it.
func Command(file string, argv ...string) []string {
	return append([]string{"strace", "-D", "-f", "-y", "-xx", "-s", "300000", "--seccomp-bpf", "-e", "signal=none",
		"-e", "trace=" + strings.Join(Calls, ","), "-o", file}, argv...)
}

// call is one system call as strace tells it.
type call struct {
	name string
	args []argument
	ok   bool // it has succeeded; true as well for a call that has begun and not ended
	ret  int64
	// begun says that it has not ended yet: its end comes as another call.
	begun bool
}

// argument is a text, a file by its path, or something else as it stands.
type argument struct {
	text  string
	file  bool // text is the path of the file that a descriptor stands for
	whole bool // text is all of it: strace has cut nothing off
}

var (
	line    = regexp.MustCompile(`^(\d+)\s+(.*)$`)
	resumed = regexp.MustCompile(`^<\.\.\. (\w+) resumed>(.*)$`)
)

const unfinished = " <unfinished ...>"

// read passes the calls of a trace on, in the order in which strace has seen them end. A write that another thread's call
// comes between is passed on twice: when it begins, and when it ends.
func read(r io.Reader, each func(call) error) error {
	open := map[string]string{} // by thread, the beginning of its call
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		text, err := lines.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m := line.FindStringSubmatch(strings.TrimSuffix(text, "\n"))
		if m == nil {
			return fmt.Errorf("no line of a trace: %.80q", text)
		}
		thread, text := m[1], m[2]
		if strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") {
			continue
		}
		begun := strings.HasSuffix(text, unfinished)
		if begun {
			text = strings.TrimSuffix(text, unfinished)
			open[thread] = text
		} else if m := resumed.FindStringSubmatch(text); m != nil {
			text = open[thread] + m[2]
			delete(open, thread)
		}
		c, err := parse(text)
		if err != nil {
			return err
		}
		if c.begun = begun; begun && c.name != "write" {
			continue
		}
		if err := each(c); err != nil {
			return err
		}
	}
}

// parse takes one line apart, from the name of the call on.
func parse(text string) (c call, err error) {
	name, rest, ok := strings.Cut(text, "(")
	if !ok {
		return c, fmt.Errorf("no call: %.80q", text)
	}
	c.name, c.ok = name, true
	for rest = strings.TrimLeft(rest, " "); rest != "" && rest[0] != ')'; rest = strings.TrimLeft(rest, ", ") {
		var a argument
		if a, rest, err = parseArgument(rest); err != nil {
			return c, fmt.Errorf("%w in %.80q", err, text)
		}
		c.args = append(c.args, a)
	}
	if _, result, ok := strings.Cut(rest, "= "); ok {
		number, _, _ := strings.Cut(result, " ")
		number, _, _ = strings.Cut(number, "<")
		if c.ret, err = strconv.ParseInt(number, 0, 64); err != nil {
			c.ok = false // "?" for a call that the process's end has cut off
			return c, nil
		}
		c.ok = c.ret >= 0
	}
	return c, nil
}

func parseArgument(rest string) (a argument, _ string, err error) {
	if text, ok := strings.CutPrefix(rest, `"`); ok {
		quoted, rest, ok := strings.Cut(text, `"`)
		if !ok {
			return a, "", fmt.Errorf("no end of a text")
		}
		a.text, err = unhex(quoted)
		rest, cut := strings.CutPrefix(rest, "...")
		a.whole = !cut
		return a, rest, err
	}
	end := strings.IndexAny(rest, ",)<{[")
	if end < 0 {
		return argument{text: rest}, "", nil
	}
	switch rest[end] {
	case '<': // a descriptor with its path
		path, after, ok := strings.Cut(rest[end+1:], ">")
		if !ok {
			return a, "", fmt.Errorf("no end of a path")
		}
		a.file = true
		a.text, err = unhex(path)
		after = strings.TrimPrefix(after, "(deleted)")
		return a, after, err
	case '{', '[': // nothing that is asked for
		depth := 0
		for i, b := range rest {
			switch b {
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return argument{text: rest[:i+1]}, rest[i+1:], nil
				}
			}
		}
		return a, "", fmt.Errorf("no end of a structure")
	}
	return argument{text: rest[:end]}, rest[end:], nil
}

// unhex decodes \x61\x62.
func unhex(text string) (string, error) {
	if !strings.HasPrefix(text, `\x`) {
		return text, nil
	}
	b, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	return string(b), err
}

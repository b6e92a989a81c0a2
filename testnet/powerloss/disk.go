package powerloss

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// Disk is a directory as a process has changed it: what is durable of it, and what was asked and may be lost.
type Disk struct {
	dir     string
	names   map[string]*file // by path below dir, as the process sees them
	durable map[string]*file // likewise, as they are after a power failure at the least
	pending []rename         // changes of names that are not durable, oldest first
	// Left are the files that no image has.
	Left []string
}

type file struct {
	synced  []byte
	pending []change
	now     []byte
	at      int64 // where the next write goes that says no place
}

// change is one write, or a truncation where data is nil.
type change struct {
	at   int64
	data []byte
}

// rename is one change of a name: nil removes it.
type rename struct {
	path string
	to   *file
}

// NewDisk returns the empty directory dir.
func NewDisk(dir string) *Disk {
	return &Disk{dir: dir, names: map[string]*file{}, durable: map[string]*file{}}
}

// Play plays a trace. Sent is called with what the process writes to anything that is not in the directory, when that begins;
// done after each call. Either may take images.
func (d *Disk) Play(trace io.Reader, sent func(data string) error, done func() error) error {
	began := false // a write outside was told when it began
	return read(trace, func(c call) error {
		if c.name == "write" && c.args[0].file {
			if _, inside := d.below(c.args[0].text); !inside {
				if c.ok && (c.begun || !began) {
					began = c.begun
					return sent(c.args[1].text)
				}
				began = false
				return nil
			}
		}
		if c.begun || !c.ok {
			return nil
		}
		if err := d.do(c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		return done()
	})
}

// below returns the path below the directory.
func (d *Disk) below(path string) (string, bool) {
	if path == d.dir {
		return ".", true
	}
	return strings.CutPrefix(path, d.dir+"/")
}

func (d *Disk) do(c call) error {
	switch c.name {
	case "openat", "open", "creat":
		path, flags := c.args[0].text, ""
		if c.name == "openat" {
			path, flags = c.args[1].text, c.args[2].text
		} else if len(c.args) > 1 {
			flags = c.args[1].text
		}
		d.open(path, flags)
	case "fsync", "fdatasync":
		d.sync(c.args[0].text)
	case "write", "pwrite64":
		return d.write(c)
	case "ftruncate":
		size, err := strconv.ParseInt(c.args[1].text, 10, 64)
		if f := d.file(c.args[0].text); f != nil && err == nil {
			f.change(change{at: size})
		}
		return err
	case "unlink":
		d.name(c.args[0].text, nil)
	case "unlinkat":
		d.name(c.args[1].text, nil)
	case "rename":
		d.move(c.args[0].text, c.args[1].text)
	case "renameat", "renameat2":
		d.move(c.args[1].text, c.args[3].text)
	case "link":
		d.name(c.args[1].text, d.file(c.args[0].text))
	case "linkat":
		d.name(c.args[3].text, d.file(c.args[1].text))
	case "mkdir", "mkdirat":
	default: // it changes a file in a way that is not understood here
		for _, a := range c.args {
			if _, inside := d.below(a.text); inside && a.file {
				return fmt.Errorf("of %s: not understood", a.text)
			}
		}
	}
	return nil
}

func (d *Disk) file(path string) *file {
	at, ok := d.below(path)
	if !ok {
		return nil
	}
	return d.names[at]
}

func (d *Disk) open(path, flags string) {
	at, inside := d.below(path)
	if !inside || strings.Contains(flags, "O_DIRECTORY") {
		return
	}
	f := d.names[at]
	if f == nil && strings.Contains(flags, "O_CREAT") {
		f = &file{}
		d.name(path, f)
	}
	if f == nil {
		return
	}
	f.at = 0
	if strings.Contains(flags, "O_TRUNC") {
		f.change(change{})
	}
	if strings.Contains(flags, "O_APPEND") {
		f.at = int64(len(f.now))
	}
}

func (d *Disk) write(c call) error {
	f := d.file(c.args[0].text)
	if f == nil {
		return nil
	}
	data := []byte(c.args[1].text)
	if int64(len(data)) < c.ret { // strace has cut it off
		data = append(data, make([]byte, c.ret-int64(len(data)))...)
	}
	at := f.at
	if c.name == "pwrite64" {
		var err error
		if at, err = strconv.ParseInt(c.args[3].text, 10, 64); err != nil {
			return err
		}
	} else {
		f.at += c.ret
	}
	f.change(change{at, data[:c.ret]})
	return nil
}

// name gives a path to a file, or takes it away.
func (d *Disk) name(path string, to *file) {
	at, inside := d.below(path)
	if !inside {
		return
	}
	if to == nil {
		delete(d.names, at)
	} else {
		d.names[at] = to
	}
	d.pending = append(d.pending, rename{at, to})
}

func (d *Disk) move(from, to string) {
	f := d.file(from)
	d.name(to, f)
	d.name(from, nil)
}

// sync makes a file's content durable, or the names in a directory.
func (d *Disk) sync(path string) {
	at, inside := d.below(path)
	if !inside {
		return
	}
	if f := d.names[at]; f != nil {
		f.synced, f.pending = slices.Clone(f.now), nil
		return
	}
	d.pending = slices.DeleteFunc(d.pending, func(r rename) bool {
		if filepath.Dir(r.path) != at {
			return false
		}
		d.durable = r.apply(d.durable)
		return true
	})
}

func (r rename) apply(names map[string]*file) map[string]*file {
	if r.to == nil {
		delete(names, r.path)
	} else {
		names[r.path] = r.to
	}
	return names
}

func (f *file) change(c change) {
	f.pending = append(f.pending, c)
	f.now = c.apply(f.now)
}

// apply returns b with the change made.
func (c change) apply(b []byte) []byte {
	if c.data == nil {
		if int64(len(b)) > c.at {
			return b[:c.at]
		}
		return append(b, make([]byte, c.at-int64(len(b)))...)
	}
	if end := c.at + int64(len(c.data)); int64(len(b)) < end {
		b = append(b, make([]byte, end-int64(len(b)))...)
	}
	copy(b[c.at:], c.data)
	return b
}

// Image writes into the directory to what the disk may hold after a power failure now: what is durable and, of everything
// else, what chance lets through. Nil: nothing else.
func (d *Disk) Image(to string, chance *rand.Rand) error {
	names := maps.Clone(d.durable)
	if chance != nil { // a file system keeps the order of names
		for _, r := range d.pending[:chance.IntN(len(d.pending)+1)] {
			names = r.apply(names)
		}
	}
	for path, f := range names {
		if slices.Contains(d.Left, path) {
			continue
		}
		content := slices.Clone(f.synced)
		if chance != nil {
			content = survive(content, f.pending, chance)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, path)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, path), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// survive lets each pending change happen, not happen, or happen in part.
func survive(content []byte, pending []change, chance *rand.Rand) []byte {
	for _, c := range pending {
		switch chance.IntN(3) {
		case 0:
			continue
		case 1:
			content = c.apply(content)
			continue
		}
		for i := 0; i < len(c.data); i += sector {
			if chance.IntN(2) == 0 {
				content = change{c.at + int64(i), c.data[i:min(i+sector, len(c.data))]}.apply(content)
			}
		}
	}
	return content
}

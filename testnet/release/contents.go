package main

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// account is whom the program runs as in a container; clusters that want a number find it in the image's settings.
const account = 65532

const (
	passwd = "root:x:0:0:root:/root:/sbin/nologin\nskerry:x:65532:65532:skerry:/var/lib/skerry:/sbin/nologin\n"
	group  = "root:x:0:\nskerry:x:65532:\n"
	// Names of hosts come from /etc/hosts, then from the servers of names.
	nsswitch = "passwd: files\ngroup: files\nhosts: files dns\n"
)

// image writes an image of a program that has been described: nothing is in it but what the program needs.
func image(program, to string, at time.Time) (err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	base, err := around(program)
	if err != nil {
		return err
	}
	own, err := ours(program)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	of := platform{setting(info, "GOARCH"), setting(info, "GOOS")}
	return archive(f, called(info.Main.Version), of, started(info), []layer{{"the C library, authorities, accounts", base}, {"skerry", own}}, at)
}

var noTag = regexp.MustCompile(`[^\w.-]+`)

// called is the name under which tools load the image: what is no part of a tag becomes a dash.
func called(version string) string {
	return "localhost/skerry:" + strings.Trim(noTag.ReplaceAllString(version, "-"), "-")
}

// started says how the program is started.
func started(info *debug.BuildInfo) execution {
	none := struct{}{}
	return execution{
		User:         fmt.Sprintf("%d:%d", account, account),
		ExposedPorts: map[string]struct{}{"4700/tcp": none, "4700/udp": none, "8700/tcp": none},
		Env:          []string{"PATH=/usr/bin", "HOME=/var/lib/skerry"},
		Entrypoint:   []string{"/usr/bin/skerry"},
		Cmd:          []string{"agent", "--config", "/etc/skerry/agent.yaml"},
		Volumes:      map[string]struct{}{"/var/lib/skerry": none},
		WorkingDir:   "/var/lib/skerry",
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "skerry",
			"org.opencontainers.image.version":  info.Main.Version,
			"org.opencontainers.image.revision": setting(info, "vcs.revision"),
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
}

func setting(info *debug.BuildInfo, key string) string {
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
	if i < 0 {
		return ""
	}
	return info.Settings[i].Value
}

// ours are the program and what was written beside it.
func ours(program string) ([]file, error) {
	files := []file{folder("usr", 0o755, 0), folder("usr/bin", 0o755, 0)}
	for _, f := range []struct {
		name string
		mode int64
		from string
	}{
		{"usr/bin/skerry", 0o755, program},
		{"usr/share/doc/skerry/bill.cdx.json", 0o644, program + ".cdx.json"},
		{"usr/share/doc/skerry/copyright", 0o644, "LICENSE"},
		{"usr/share/doc/skerry/licences.txt", 0o644, program + ".licences.txt"},
	} {
		one, err := place(f.name, f.mode, f.from)
		if err != nil {
			return nil, err
		}
		files = append(files, one)
	}
	return files, nil
}

// around is what the program needs to run, from this machine's files: the C library, and the authorities of Debian's package alone, without
// what an administrator has added here.
func around(program string) ([]file, error) {
	files := []file{
		folder("etc", 0o755, 0), {name: "etc/group", mode: 0o644, body: []byte(group)}, {name: "etc/nsswitch.conf", mode: 0o644, body: []byte(nsswitch)},
		{name: "etc/passwd", mode: 0o644, body: []byte(passwd)}, folder("etc/skerry", 0o755, 0),
		folder("tmp", 0o1777, 0), folder("var", 0o755, 0), folder("var/lib", 0o755, 0), folder("var/lib/skerry", 0o700, account),
	}
	libraries, err := libraries(program)
	if err != nil {
		return nil, err
	}
	authorities, err := authorities("/usr/share/ca-certificates/mozilla")
	if err != nil {
		return nil, err
	}
	files = append(append(files, libraries...), file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, body: authorities})
	for _, name := range []string{"ca-certificates", "libc6"} {
		f, err := place("usr/share/doc/"+name+"/copyright", 0o644, "/usr/share/doc/"+name+"/copyright")
		if err != nil {
			return nil, fmt.Errorf("the terms of %s: %w", name, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// triplets are what Debian calls architectures in paths.
var triplets = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// libraries are what loads a program, and the libraries that it is linked with. For another architecture than this machine's they are those that its
// compiler came with.
func libraries(program string) ([]file, error) {
	e, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	triplet := triplets[e.Machine]
	names, err := e.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	loader := ""
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				return nil, err
			}
			loader = strings.TrimPrefix(strings.TrimRight(string(b), "\x00"), "/")
		}
	}
	if triplet == "" || loader == "" {
		return nil, fmt.Errorf("%s is no program for an architecture that images are made for", program)
	}
	find := func(name string) string {
		for _, folder := range []string{"/lib/" + triplet, "/usr/" + triplet + "/lib"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
				return filepath.Join(folder, name)
			}
		}
		return name
	}
	var files []file
	for _, name := range names {
		f, err := place("lib/"+triplet+"/"+name, 0o755, find(name))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	f, err := place(loader, 0o755, find(path.Base(loader)))
	return append(files, f), err
}

// authorities are the certificates in a folder, one after another.
func authorities(folder string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.crt"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s has no certificates: install Debian's ca-certificates", folder)
	}
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, p := range paths { // in order: Glob sorts
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

// moment is the time that SOURCE_DATE_EPOCH says, in seconds.
func moment(text string) (time.Time, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w: give the commit's time (git log -1 --format=%%ct)", err)
	}
	return time.Unix(n, 0), nil
}

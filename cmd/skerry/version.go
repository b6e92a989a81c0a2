package main

import (
	"fmt"
	"runtime/debug"
)

// The Rust core of Automerge is linked into its Go binding as a library without a name of its own in the build
// information: each release of the binding has one.
const automergeBinding = "github.com/automerge/automerge-go"

var automergeCores = map[string]string{"v0.0.0-20230903201930-b80ce8aadbb9": "0.5.0"}

// version is what this program was built from.
type version struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Modified  bool   `json:"modified"` // the source differed from the commit
	Go        string `json:"go"`
	Automerge string `json:"automerge"` // of the core; empty in a build without documents
}

func versionOf(info *debug.BuildInfo) version {
	v := version{Version: info.Main.Version, Go: info.GoVersion}
	if v.Version == "" || v.Version == "(devel)" {
		v.Version = "devel"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if d.Path == automergeBinding {
			if v.Automerge = automergeCores[d.Version]; v.Automerge == "" {
				v.Automerge = "of binding " + d.Version
			}
		}
	}
	return v
}

type versionCommand struct{}

func (versionCommand) Help() string {
	return `Examples:

    skerry version
    skerry version -o json | jq -r .version`
}

func (versionCommand) Run(p *program) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return fmt.Errorf("this program was built without build information")
	}
	v := versionOf(info)
	if p.json {
		return p.printJSON(v)
	}
	commit := v.Commit
	if v.Modified {
		commit += " (modified)"
	}
	fields(p.out, "skerry", v.Version, "commit", commit, "go", v.Go, "automerge", v.Automerge)
	return nil
}

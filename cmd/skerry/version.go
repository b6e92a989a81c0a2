package main

import (
	"fmt"
	"runtime/debug"
)

// automergeCore is the version of Automerge's core whose format documents have. It is not linked in: tests load documents with it.
const automergeCore = "0.5.0"

// version is what this program was built from.
type version struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Modified  bool   `json:"modified"` // the source differed from the commit
	Go        string `json:"go"`
	Automerge string `json:"automerge"` // of the core whose format documents have
}

func versionOf(info *debug.BuildInfo) version {
	v := version{Version: info.Main.Version, Go: info.GoVersion, Automerge: automergeCore}
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

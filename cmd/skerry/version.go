package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
)

// automergeCore is the version of Automerge's core whose format documents have. It is not linked in: tests load documents with it.
const automergeCore = "0.5.0"

// version is what this program was built from, and which versions of what agents keep and tell each other it has.
type version struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Modified  bool   `json:"modified"` // the source differed from the commit
	Go        string `json:"go"`
	Automerge string `json:"automerge"` // of the core whose format documents have
	Store     store  `json:"store"`
	// Protocols are those of agents, each with its version.
	Protocols []string `json:"protocols"`
}

// store is what versions of the database are opened; an older one is brought to the newest.
type store struct {
	Oldest int `json:"oldest"`
	Newest int `json:"newest"`
}

func versionOf(info *debug.BuildInfo) version {
	v := version{Version: info.Main.Version, Go: info.GoVersion, Automerge: automergeCore, Protocols: engine.Protocols()}
	v.Store.Oldest, v.Store.Newest = storage.Versions()
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
	return `What it was built of, the versions of databases that it opens, and the protocols that its agent speaks with others.

Examples:

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
	stores := fmt.Sprint(v.Store.Newest)
	if v.Store.Oldest < v.Store.Newest {
		stores = fmt.Sprintf("%d to %d", v.Store.Oldest, v.Store.Newest)
	}
	var protocols []string
	for _, name := range v.Protocols {
		protocols = append(protocols, strings.TrimPrefix(name, "/skerry/"))
	}
	fields(p.out, "skerry", v.Version, "commit", commit, "go", v.Go, "automerge", v.Automerge, "store", stores, "protocols", strings.Join(protocols, " "))
	return nil
}

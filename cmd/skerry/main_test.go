package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// noon is when the scripts run.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// TestScripts runs each script of testdata against its own fake agent.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "", // writes what is printed into the scripts: read the difference
		Setup: func(e *testscript.Env) error {
			agent := startFake()
			e.Defer(agent.Close)
			e.Setenv("SKERRY_API", agent.URL)
			e.Values["agent"] = agent
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"asked":  asked,
			"exits":  exits,
			"skerry": skerry,
		},
	})
}

// asked checks what the last command asked the agent for: "asked METHOD PATH [BODY]".
func asked(ts *testscript.TestScript, neg bool, args []string) {
	agent := ts.Value("agent").(*fakeAgent)
	want := args[0] + " " + args[1]
	if len(args) > 2 {
		want += " " + args[2]
	}
	if got := agent.last(); (got == want) == neg {
		ts.Fatalf("the agent was asked %s, want %s", got, want)
	}
}

// skerry runs the program in this process: "skerry ARGS…" wants exit status 0.
func skerry(ts *testscript.TestScript, neg bool, args []string) {
	exits(ts, neg, append([]string{"0"}, args...))
}

// exits runs the program and checks its exit status: "exits STATUS ARGS…".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	got := run(args[1:], surroundings{out: ts.Stdout(), errs: ts.Stderr(), getenv: ts.Getenv, now: clock})
	if (strconv.Itoa(got) == args[0]) == neg {
		ts.Fatalf("exit status is %d", got)
	}
}

func TestScriptsAreThere(t *testing.T) {
	if all, err := filepath.Glob("testdata/*.txtar"); err != nil || len(all) < 8 {
		t.Errorf("scripts: %v, %v", all, err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// noon is when the scripts run.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"skerry": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, clock)) },
	})
}

// TestScripts runs each script of testdata against its own fake agent.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "", // writes what is printed into the scripts: read the difference
		Setup: func(e *testscript.Env) error {
			agent := startFake()
			e.Defer(agent.Close)
			e.Setenv("SKERRY_API", agent.URL)
			e.Setenv("TZ", "UTC")
			e.Values["agent"] = agent
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"asked": asked,
			"exits": exits,
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

// exits runs the program and checks its exit status: "exits STATUS ARGS…". Its output is compared as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want := args[0]
	err := ts.Exec("skerry", args[1:]...)
	got := "0"
	if status, ok := err.(interface{ ExitCode() int }); ok {
		got = string(rune('0' + status.ExitCode()))
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if (got == want) == neg {
		ts.Fatalf("exit status is %s, want %s", got, want)
	}
}

func TestScriptsAreThere(t *testing.T) {
	if all, err := filepath.Glob("testdata/*.txtar"); err != nil || len(all) < 8 {
		t.Errorf("scripts: %v, %v", all, err)
	}
}

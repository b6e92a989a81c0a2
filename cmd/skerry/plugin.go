package main

import "path/filepath"

// plugin is the name under which kubectl runs this program for kubectl scope SCOPE …
const plugin = "kubectl-scope"

// arguments returns those that a program was started with. As the plugin of kubectl it runs kubectl with the scope that comes first.
func arguments(argv []string) []string {
	if filepath.Base(argv[0]) != plugin {
		return argv[1:]
	}
	if len(argv) < 3 {
		return []string{"exec", "--help"}
	}
	return append([]string{"exec", "--cluster", "--scope", argv[1], "--", "kubectl"}, argv[2:]...)
}

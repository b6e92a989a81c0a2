package main

import (
	"slices"
	"testing"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ argv, want []string }{
		{[]string{"/usr/bin/skerry", "exec", "a"}, []string{"exec", "a"}},
		{[]string{"skerry"}, nil},
		{[]string{"/usr/bin/kubectl-scope", "paris & nantes", "get", "pods", "-A"},
			[]string{"exec", "--cluster", "--scope", "paris & nantes", "--", "kubectl", "get", "pods", "-A"}},
		{[]string{"kubectl-scope", "--help"}, []string{"exec", "--help"}},
	} {
		if got := arguments(c.argv); !slices.Equal(got, c.want) {
			t.Errorf("%v is run as %v, want %v", c.argv, got, c.want)
		}
	}
}

//go:build kubernetes

package kubernetes

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// program is the path of skerry, programs the folder of kube-apiserver and kubectl.
var program, programs string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "skerry-kubernetes-")
	if err == nil {
		defer os.RemoveAll(dir)
		program, err = env.Build(context.Background(), dir)
	}
	if err == nil {
		programs, err = build(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

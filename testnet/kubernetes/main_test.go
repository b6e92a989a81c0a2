//go:build kubernetes

package kubernetes

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// program is the path of skerry, programs the folder of kube-apiserver and kubectl, older that of another kubectl, helm that of Helm and of what renders
// charts.
var program, programs, older, helm string

// modules is where the version of Kubernetes is fixed that the tests run.
var modules = flag.String("kubernetes.modules", "../apps/kubernetes", "folder of the module that fixes the version of Kubernetes")

func TestMain(m *testing.M) {
	flag.Parse()
	code := env.Run(m, &program, func(ctx context.Context) (err error) {
		programs, err = cluster.Build(ctx, *modules)
		return err
	}, func(ctx context.Context) (err error) {
		older, err = cluster.Build(ctx, "../apps/kubectl")
		return err
	}, func(ctx context.Context) (err error) {
		helm, err = cluster.Helm(ctx, "../apps/helm")
		return err
	})
	if err := endAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

//go:build kubernetes

package kubernetes

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// program is the path of skerry, programs the folder of kube-apiserver and kubectl, older that of another kubectl, helm that of Helm and of what renders
// charts.
var program, programs, older, helm string

func TestMain(m *testing.M) {
	code := env.Run(m, &program, func(ctx context.Context) (err error) {
		programs, err = cluster.Build(ctx, "../apps/kubernetes")
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

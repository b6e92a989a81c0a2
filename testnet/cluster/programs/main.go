// Command programs builds Kubernetes' programs, unless they were built before, and puts links to them into a folder, as make demo does. Without
// a folder it builds all that tests need. It is run in the folder of the whole module.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skerry/skerry/testnet/cluster"
)

func main() {
	if len(os.Args) > 2 {
		fmt.Fprintln(os.Stderr, "usage: programs [FOLDER]")
		os.Exit(2)
	}
	if err := link(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func link(folders []string) error {
	built, err := cluster.Build(context.Background(), filepath.Join("testnet", "apps", "kubernetes"))
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		_, older := cluster.Build(context.Background(), filepath.Join("testnet", "apps", "kubectl"))
		_, helm := cluster.Helm(context.Background(), filepath.Join("testnet", "apps", "helm"))
		return errors.Join(older, helm)
	}
	for _, folder := range folders {
		for _, name := range cluster.Programs {
			at := filepath.Join(folder, name)
			if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := os.Symlink(filepath.Join(built, name), at); err != nil {
				return err
			}
		}
	}
	return nil
}

// Command render prints what Helm makes of a chart and of values: the objects that it would have a cluster make.
//
//	render CHART NAMESPACE VALUES.yaml…
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: render CHART NAMESPACE VALUES.yaml…")
		os.Exit(2)
	}
	objects, err := render(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	fmt.Print(objects)
}

// render renders a chart as a release that is called like it. Of two files that give a value the later counts.
func render(path, namespace string, files []string) (string, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return "", err
	}
	if err := chart.Validate(); err != nil {
		return "", err
	}
	values := chartutil.Values{}
	for _, f := range files {
		more, err := chartutil.ReadValuesFile(f)
		if err != nil {
			return "", fmt.Errorf("%s: %w", f, err)
		}
		values = chartutil.CoalesceTables(more, values)
	}
	release := chartutil.ReleaseOptions{Name: chart.Name(), Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	made, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if filepath.Ext(name) == ".yaml" && strings.TrimSpace(made[name]) != "" {
			fmt.Fprintf(&b, "---\n# %s\n%s\n", name, strings.TrimSpace(made[name]))
		}
	}
	if b.Len() == 0 {
		return "", errors.New("the chart makes nothing")
	}
	return b.String(), nil
}

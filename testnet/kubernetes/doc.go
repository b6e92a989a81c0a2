// Package kubernetes tests Skerry with Kubernetes itself: at each site runs an unmodified kube-apiserver with an etcd of its own, and an
// unmodified kubectl asks it through the site's agent. Pods are objects that nobody runs: there is no kubelet.
// What it shows and what the clusters hold then is best read in the scripts of testdata/tables (table_test.go).
//
// Building the programs takes minutes and gigabytes, so the tests are behind the build tag kubernetes, which make test sets.
package kubernetes

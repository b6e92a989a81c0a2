// Package cluster runs Kubernetes itself on this machine, one small cluster a site: etcd, an unmodified kube-apiserver and, where it is
// asked for, kube-controller-manager. Tests and benchmarks build the programs once for each version (build.go).
//
// There are no machines to run containers on: Nodes stands in for the scheduler and the kubelets. It says of every pod that it runs.
package cluster

package kubernetes

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// podSpecs are where kinds say what a pod is made of.
var podSpecs = map[engine.KindName]engine.Pointer{
	"pods":                   "/spec",
	"cronjobs.batch":         "/spec/jobTemplate/spec/template/spec",
	"daemonsets.apps":        "/spec/template/spec",
	"deployments.apps":       "/spec/template/spec",
	"jobs.batch":             "/spec/template/spec",
	"replicasets.apps":       "/spec/template/spec",
	"replicationcontrollers": "/spec/template/spec",
	"statefulsets.apps":      "/spec/template/spec",
}

// What a pod relies on as long as it lives, for a container may start anew at any time.
const (
	configMaps = engine.KindName("configmaps")
	secrets    = engine.KindName("secrets")
	accounts   = engine.KindName("serviceaccounts")
	claims     = engine.KindName("persistentvolumeclaims")
)

// needs are those of a pod's specification. What is called optional there is none.
var needs = []struct {
	at       engine.Pointer
	kind     engine.KindName
	optional bool
}{
	{"/serviceAccountName", accounts, false},
	{"/imagePullSecrets/*/name", secrets, false},
	{"/volumes/*/configMap/name", configMaps, true},
	{"/volumes/*/secret/secretName", secrets, true},
	{"/volumes/*/persistentVolumeClaim/claimName", claims, false},
	{"/volumes/*/projected/sources/*/configMap/name", configMaps, true},
	{"/volumes/*/projected/sources/*/secret/name", secrets, true},
	{"/containers/*/envFrom/*/configMapRef/name", configMaps, true},
	{"/containers/*/envFrom/*/secretRef/name", secrets, true},
	{"/containers/*/env/*/valueFrom/configMapKeyRef/name", configMaps, true},
	{"/containers/*/env/*/valueFrom/secretKeyRef/name", secrets, true},
	{"/initContainers/*/envFrom/*/configMapRef/name", configMaps, true},
	{"/initContainers/*/envFrom/*/secretRef/name", secrets, true},
	{"/initContainers/*/env/*/valueFrom/configMapKeyRef/name", configMaps, true},
	{"/initContainers/*/env/*/valueFrom/secretKeyRef/name", secrets, true},
}

// refs are what a kind refers to. The namespace is its container, which needs no field.
func refs(k *engine.Kind) []engine.Ref {
	at, ok := podSpecs[k.Name]
	if !ok {
		return nil
	}
	list := make([]engine.Ref, len(needs))
	for i, n := range needs {
		list[i] = engine.Ref{At: at + n.at, Service: k.Service, Kind: n.kind, Relation: engine.RelationReliance, Beside: true}
		if n.optional {
			list[i].Unless = "optional"
		}
	}
	return list
}

// visibility is from where a kind can be used: a cluster finds what a pod relies on in itself alone.
func visibility(k *engine.Kind) glue.Visibility {
	switch k.Name {
	case configMaps, secrets, accounts, claims:
		return glue.Visibility{Scope: glue.VisibilityLocal}
	}
	return glue.Visibility{Scope: glue.VisibilityGlobal}
}

// makers are the kinds that controllers make others from.
var makers = map[engine.KindName][]struct {
	name string // as an owner reference has it
	kind engine.KindName
}{
	"pods": {{"ReplicaSet", "replicasets.apps"}, {"StatefulSet", "statefulsets.apps"}, {"DaemonSet", "daemonsets.apps"}, {"Job", "jobs.batch"},
		{"ReplicationController", "replicationcontrollers"}},
	"replicasets.apps": {{"Deployment", "deployments.apps"}},
	"jobs.batch":       {{"CronJob", "cronjobs.batch"}},
}

func owners(k *engine.Kind) []glue.Owner {
	var list []glue.Owner
	for _, m := range makers[k.Name] {
		list = append(list, glue.Owner{At: "/metadata/ownerReferences", Member: "kind", Equals: m.name, ID: "name", Kind: m.kind})
	}
	return list
}

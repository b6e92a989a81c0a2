package kubernetes

import (
	"bytes"
	"encoding/json"

	"github.com/skerry/skerry/engine"
)

// lastApplied is the annotation in which kubectl apply keeps what it was given, as a token of a pointer.
const lastApplied = "kubectl.kubernetes.io~1last-applied-configuration"

// own are the fields that every cluster sets by itself.
var own = []engine.Pointer{
	"/metadata/uid", "/metadata/resourceVersion", "/metadata/creationTimestamp", "/metadata/generation", "/metadata/managedFields",
	"/metadata/selfLink", "/metadata/deletionTimestamp", "/metadata/deletionGracePeriodSeconds", "/metadata/ownerReferences", "/status",
}

// token is what a cluster adds to a pod so that it has the token of its account, under a name of its own.
var token = []engine.Pointer{
	"/spec/volumes/kube-api-access-*", "/spec/containers/*/volumeMounts/" + tokenMount, "/spec/initContainers/*/volumeMounts/" + tokenMount,
}

const tokenMount = "~1var~1run~1secrets~1kubernetes.io~1serviceaccount"

// ownOf are those of one kind, beside them.
var ownOf = map[string][]engine.Pointer{
	"services": {"/spec/clusterIP", "/spec/clusterIPs", "/spec/healthCheckNodePort", "/spec/ports/*/nodePort"},
	"pods":     append([]engine.Pointer{"/spec/nodeName"}, token...),
	"jobs.batch": {"/spec/selector", "/metadata/labels/batch.kubernetes.io~1controller-uid", "/metadata/labels/controller-uid",
		"/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid", "/spec/template/metadata/labels/controller-uid"},
	"deployments.apps":       {"/metadata/annotations/deployment.kubernetes.io~1revision"},
	"serviceaccounts":        {"/secrets"},
	"persistentvolumeclaims": {"/spec/volumeName"},
	"persistentvolumes":      {"/spec/claimRef/uid", "/spec/claimRef/resourceVersion"},
}

// ignored lists what differs between replicas by nature.
func ignored(kind string) []engine.Pointer {
	return append(append([]engine.Pointer{}, own...), ownOf[kind]...)
}

// portable returns an object without what belongs to one cluster, so that another can make the same. What a client asks for under the name
// of such a field stays: a service without an address says "None". Bytes that are no JSON object are returned as they are.
func portable(k *engine.Kind, object []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var tree map[string]any
	if d.Decode(&tree) != nil || tree == nil {
		return object
	}
	removed := false
	for _, p := range k.Ignore {
		removed = remove(tree, p.Tokens()) || removed
	}
	if !removed {
		return object
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(tree) != nil {
		return object
	}
	return bytes.TrimSpace(b.Bytes())
}

// remove takes a member out of a tree, unless it says "None", and reports whether it was there.
func remove(tree any, tokens []string) bool {
	members, ok := tree.(map[string]any)
	if !ok || len(tokens) == 0 {
		return false
	}
	value, there := members[tokens[0]]
	if !there || len(tokens) > 1 {
		return there && remove(value, tokens[1:])
	}
	if list, is := value.([]any); value == "None" || is && len(list) == 1 && list[0] == "None" {
		return false
	}
	delete(members, tokens[0])
	return true
}

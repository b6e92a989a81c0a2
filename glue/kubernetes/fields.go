package kubernetes

import (
	"bytes"
	"encoding/json"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// lastApplied is the annotation in which kubectl apply keeps what it was given, as a token of a pointer.
const lastApplied = "kubectl.kubernetes.io~1last-applied-configuration"

// ownField is one that each cluster sets by itself, with the reason for people.
type ownField struct {
	at  engine.Pointer
	why string
}

// own are the fields that every cluster sets by itself.
var own = []ownField{
	{"/metadata/uid", "each cluster gives its object an identifier"},
	{"/metadata/resourceVersion", "each cluster counts its own writes"},
	{"/metadata/creationTimestamp", "each cluster has made its object at its own time"},
	{"/metadata/generation", counts},
	{"/metadata/managedFields", "each cluster notes who has written there"},
	{"/metadata/selfLink", "each cluster gives its object an address"},
	{"/metadata/deletionTimestamp", "each cluster deletes its object at its own time"},
	{"/metadata/deletionGracePeriodSeconds", "each cluster deletes its object at its own time"},
	{"/metadata/ownerReferences", "it names its owner by the identifier that its own cluster has given that"},
	{"/status", "it tells how the object gets on in its own cluster"},
}

const (
	tokenMount  = "~1var~1run~1secrets~1kubernetes.io~1serviceaccount"
	tokenReason = "each cluster gives a pod the token of its account, under a name of its own"
	addresses   = "each cluster assigns addresses of its own"
	ports       = "each cluster assigns ports of its own; what a create asks for, it asks for at all sites"
	controllers = "it names the job by the identifier that its own cluster has given that"
	counts      = "each cluster counts its own changes"
	bound       = "each cluster binds the claim to a volume of its own"
	tokenOf     = "the token of an account is each cluster's own, and good there only"
)

// ownOf are those of one kind, beside them.
var ownOf = map[string][]ownField{
	"services": {
		{"/spec/clusterIP", addresses}, {"/spec/clusterIPs", addresses},
		{"/spec/healthCheckNodePort", ports}, {"/spec/ports/*/nodePort", ports},
	},
	"pods": {
		{"/spec/nodeName", "each cluster has nodes of its own"}, {"/spec/volumes/kube-api-access-*", tokenReason},
		{"/spec/containers/*/volumeMounts/" + tokenMount, tokenReason}, {"/spec/initContainers/*/volumeMounts/" + tokenMount, tokenReason},
	},
	"jobs.batch": {
		{"/spec/selector", controllers}, {"/metadata/labels/batch.kubernetes.io~1controller-uid", controllers},
		{"/metadata/labels/controller-uid", controllers}, {"/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid", controllers},
		{"/spec/template/metadata/labels/controller-uid", controllers},
	},
	"deployments.apps": {{"/metadata/annotations/deployment.kubernetes.io~1revision", counts}},
	"daemonsets.apps":  {{"/metadata/annotations/deprecated.daemonset.template.generation", counts}},
	"serviceaccounts":  {{"/secrets", tokenOf}},
	"persistentvolumeclaims": {
		{"/spec/volumeName", "each cluster has volumes of its own"},
		{"/metadata/annotations/pv.kubernetes.io~1bind-completed", bound}, {"/metadata/annotations/pv.kubernetes.io~1bound-by-controller", bound},
		{"/metadata/annotations/volume.kubernetes.io~1selected-node", bound}, {"/metadata/annotations/volume.kubernetes.io~1storage-provisioner", bound},
		{"/metadata/annotations/volume.beta.kubernetes.io~1storage-provisioner", bound},
	},
	"persistentvolumes": {
		{"/metadata/annotations/pv.kubernetes.io~1bound-by-controller", bound},
		{"/spec/claimRef/uid", "each cluster gives the claim an identifier"}, {"/spec/claimRef/resourceVersion", "each cluster counts its own writes"},
	},
	"secrets": {{accountUID, "each cluster gives the account an identifier"}},
}

// ends are the kinds whose objects end by themselves: what is gone without being deleted is not made anew, for it would run again. A pod that was
// evicted is gone in whichever phase it was; those that are to be there again have something that makes them.
var ends = map[string]bool{"jobs.batch": true, "pods": true}

// endsIn tells by what an object showed last that it had come to its end, of kinds whose objects may: secrets that a controller takes away.
var endsIn = map[string]engine.Settling{
	"secrets": {At: "/type", In: []json.RawMessage{json.RawMessage(`"` + ofAccount + `"`), json.RawMessage(`"bootstrap.kubernetes.io/token"`)}},
}

// single are the kinds that no two clusters hold together, with the reason.
var single = map[string]string{
	"nodes":                "each cluster has nodes of its own",
	"events":               "it tells what happened in one cluster",
	"events.events.k8s.io": "it tells what happened in one cluster",
	"certificatesigningrequests.certificates.k8s.io": "one cluster signs it, and its certificate is good there only",
}

// last says what becomes of a kind's objects that are gone, and whether clusters hold them together.
func last(k *engine.Kind) {
	name := string(k.Name)
	k.Ends, k.Single = ends[name], single[name]
	k.Settles = &engine.Settling{At: "/metadata/deletionTimestamp"}
	if e, ok := endsIn[name]; ok {
		k.EndsIn = []engine.Settling{e}
	}
}

const (
	accountUID = "/metadata/annotations/kubernetes.io~1service-account.uid"
	ofAccount  = "kubernetes.io/service-account-token"
)

// leave has a kind leave out what differs between replicas by nature.
func leave(k *engine.Kind) {
	k.Ignore, k.Reasons = nil, map[engine.Pointer]string{}
	for _, list := range [][]ownField{own, ownOf[string(k.Name)]} {
		for _, f := range list {
			k.Ignore = append(k.Ignore, f.at)
			k.Reasons[f.at] = f.why
		}
	}
	if k.Name == "secrets" {
		k.IgnoreIn = []engine.IgnoredIn{{At: "/data", In: "/type", Equals: ofAccount}}
		k.Reasons["/data"] = tokenOf
	}
}

// portable returns an object without what belongs to one cluster, so that another can make the same. What a client asks for under the name
// of such a field stays: a service without an address says "None". Bytes that are no JSON object are returned as they are.
func portable(k *engine.Kind, object []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var root map[string]any
	if d.Decode(&root) != nil || root == nil {
		return object
	}
	removed := false
	for _, p := range k.IgnoredWhere(tree.Says(root)) {
		removed = remove(root, p.Tokens()) || removed
	}
	if !removed {
		return object
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(root) != nil {
		return object
	}
	return bytes.TrimSpace(b.Bytes())
}

// remove takes a member out of a tree, unless it says "None", and reports whether it was there.
func remove(from any, tokens []string) bool {
	members, ok := from.(map[string]any)
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

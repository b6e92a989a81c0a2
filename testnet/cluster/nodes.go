package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// node is the one that there is.
const node = "edge"

// Nodes stands in for what runs pods: it gives each a node, says that its containers run, and lets it go when it is deleted. Those of a job have
// done their work at once.
type Nodes struct {
	Cluster *Cluster
	// Base reaches the host of the cluster.
	Base *http.Transport
	Log  *slog.Logger
	// Podman runs what is in pods; nil: nothing does, they are said to run.
	Podman *Podman

	client *http.Client
}

// pod is what is read of one.
type pod struct {
	Metadata struct {
		Namespace, Name, ResourceVersion string
		DeletionTimestamp                string
		Labels                           map[string]string
	}
	Spec struct {
		NodeName, ServiceAccountName string
		Containers                   []container
		Volumes                      []volume
		SecurityContext              struct{ RunAsUser, RunAsGroup int }
	}
	Status struct{ Phase string }
}

// again is how long it waits after a request that has failed.
const again = 200 * time.Millisecond

// Run does so until ctx ends. A cluster that does not answer is asked again.
func (n *Nodes) Run(ctx context.Context) error {
	transport, err := n.Cluster.Transport(n.Base)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	n.client = &http.Client{Transport: transport}
	for {
		err := n.follow(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
			n.Log.Debug("pods are listed anew", "err", err)
		}
	}
}

// follow sees to all pods that there are, and then to those that change, until the cluster ends that.
func (n *Nodes) follow(ctx context.Context) error {
	_, err := n.do(ctx, http.MethodPatch, "/api/v1/nodes/"+node+"?fieldManager=nodes&force=true", "application/apply-patch+yaml",
		map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": node}})
	if err != nil {
		return err
	}
	if n.Podman != nil {
		_, err := n.do(ctx, http.MethodPatch, "/api/v1/nodes/"+node+"/status", "application/merge-patch+json", map[string]any{"status": n.Podman.status()})
		if err != nil {
			return err
		}
	}
	b, err := n.do(ctx, http.MethodGet, "/api/v1/pods", "", nil)
	if err != nil {
		return err
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []pod
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for i := range list.Items {
		n.see(ctx, &list.Items[i])
	}
	r, err := n.request(ctx, http.MethodGet, "/api/v1/pods?watch=true&resourceVersion="+list.Metadata.ResourceVersion, "", nil)
	if err != nil {
		return err
	}
	resp, err := n.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for events := json.NewDecoder(resp.Body); ; {
		var e struct {
			Type   string
			Object pod
		}
		if err := events.Decode(&e); err != nil {
			return err
		}
		switch e.Type {
		case "ADDED", "MODIFIED":
			n.see(ctx, &e.Object)
		case "ERROR":
			return fmt.Errorf("the watch has ended at %s", cmp.Or(e.Object.Metadata.ResourceVersion, "once"))
		}
	}
}

// see brings one pod where it is to be. What fails is tried again when the pod changes, or the list is read anew.
func (n *Nodes) see(ctx context.Context, p *pod) {
	at := "/api/v1/namespaces/" + p.Metadata.Namespace + "/pods/" + p.Metadata.Name
	var err error
	switch {
	case p.Metadata.DeletionTimestamp != "":
		if n.Podman != nil {
			err = n.Podman.end(ctx, p)
		}
		if err != nil {
			break
		}
		_, err = n.do(ctx, http.MethodDelete, at+"?gracePeriodSeconds=0", "", nil)
	case p.Spec.NodeName == "":
		_, err = n.do(ctx, http.MethodPost, at+"/binding", "application/json", map[string]any{"apiVersion": "v1", "kind": "Binding",
			"metadata": map[string]any{"name": p.Metadata.Name}, "target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": node}})
	case p.Status.Phase == "Running" && p.Metadata.Labels["batch.kubernetes.io/job-name"] != "":
		_, err = n.do(ctx, http.MethodPatch, at+"/status", "application/merge-patch+json", map[string]any{"status": map[string]any{"phase": "Succeeded"}})
	case p.Status.Phase == "" || p.Status.Phase == "Pending":
		if n.Podman != nil {
			err = n.Podman.start(ctx, n, p)
		}
		if err != nil {
			break
		}
		var containers []any
		for _, c := range p.Spec.Containers {
			containers = append(containers, map[string]any{"name": c.Name, "image": c.Image, "imageID": c.Image, "ready": true, "started": true,
				"state": map[string]any{"running": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}}})
		}
		var conditions []any
		for _, c := range []string{"PodScheduled", "Initialized", "ContainersReady", "Ready"} {
			conditions = append(conditions, map[string]any{"type": c, "status": "True"})
		}
		_, err = n.do(ctx, http.MethodPatch, at+"/status", "application/merge-patch+json", map[string]any{"status": map[string]any{
			"phase": "Running", "hostIP": "127.0.0.1", "conditions": conditions, "containerStatuses": containers}})
	}
	if err != nil && ctx.Err() == nil {
		n.Log.Debug("a pod was not seen to", "pod", p.Metadata.Name, "err", err)
	}
}

func (n *Nodes) request(ctx context.Context, method, path, media string, body any) (*http.Request, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		b = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, n.Cluster.URL()+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+nodesToken)
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	return r, nil
}

func (n *Nodes) do(ctx context.Context, method, path, media string, body any) ([]byte, error) {
	r, err := n.request(ctx, method, path, media, body)
	if err != nil {
		return nil, err
	}
	resp, err := n.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode > 299 && resp.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return b, err
}

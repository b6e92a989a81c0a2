package setup

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/glue/openstack"
)

// Found is an application that this machine's files tell of.
type Found struct {
	// Kubeconfig and Clouds are the file: one of them.
	Kubeconfig, Clouds string
	// Name is that of the context or of the cloud.
	Name string
}

func (f Found) String() string {
	if f.Kubeconfig != "" {
		return "the cluster of Kubernetes in " + f.Kubeconfig + " (context " + f.Name + ")"
	}
	return "the OpenStack in " + f.Clouds + " (cloud " + f.Name + ")"
}

// Detect looks where the clients of applications look: a kubeconfig, and a file of clouds. Of that it tells each cloud, by name.
func Detect(getenv func(string) string) (found []Found) {
	home := getenv("HOME")
	kubeconfigs := filepath.SplitList(cmp.Or(getenv("KUBECONFIG"), filepath.Join(home, ".kube", "config")))
	for _, path := range append(kubeconfigs, "/etc/rancher/k3s/k3s.yaml", "/etc/kubernetes/admin.conf") {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		config, err := kubernetes.ParseKubeconfig(b, filepath.Dir(path))
		if err != nil {
			continue
		}
		if c, err := config.Cluster(""); err == nil {
			found = append(found, Found{Kubeconfig: path, Name: c.Context})
			break
		}
	}
	for _, path := range []string{getenv("OS_CLIENT_CONFIG_FILE"), "clouds.yaml", filepath.Join(home, ".config", "openstack", "clouds.yaml"), "/etc/openstack/clouds.yaml"} {
		clouds, err := cloudsIn(path)
		if err != nil {
			continue
		}
		if clouds = slices.DeleteFunc(clouds, func(c openstack.Cloud) bool { return getenv("OS_CLOUD") != "" && c.Name != getenv("OS_CLOUD") }); len(clouds) == 0 {
			continue
		}
		for _, c := range clouds {
			found = append(found, Found{Clouds: path, Name: c.Name})
		}
		return found
	}
	return found
}

package env

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/skerry/skerry/testnet/lab"
)

// Setup declares an environment.
type Setup struct {
	// Program is the path of the program skerry (see Build). Programs are those of sites whose agent is another one, by site.
	Program  string
	Programs map[string]string
	// Sites are the names; the first site founds the mesh and invites the others.
	Sites []string
	// Hosts are the names of further hosts of the same network, on which nothing runs.
	Hosts []string
	// NAT are the sites that stand behind a NAT each, and Symmetric those of them whose NAT lets no hole be made.
	NAT, Symmetric []string
	// Application runs at every site.
	Application Application
	// Extra is appended to the configuration of every site as it is.
	Extra string
	// Before runs before a site's application is started, with the folder of the site; nil is nothing.
	Before func(dir string) error
	// Prepare runs before a site's agent is started for the first time, for what a test wants to be different; nil is
	// nothing.
	Prepare func(s *Site) error
}

// Application is what an agent stands in front of.
type Application struct {
	// Catalog describes it to the agent.
	Catalog []byte
	// Services are their names with the ports of the application on loopback, the same at every site. The agent
	// listens a hundred ports below.
	Services map[string]int
	// Command returns what runs one instance with its data in dir.
	Command func(dir string) []string
	// Health is a path that the first service answers with 200 once it runs.
	Health string
	// Ready runs at each site once its instance answers; nil is nothing.
	Ready func(ctx context.Context, s *Site) error
	// Within bounds how long all instances, and then the agents, take to be ready; zero is a minute.
	Within time.Duration
}

// Lab is the demo application, run by the given program.
func Lab(program string) Application {
	return Application{
		Catalog:  lab.Catalog,
		Services: map[string]int{lab.Images: 9801, lab.Networks: 9802, lab.Servers: 9803},
		Health:   "/-/requests",
		Command: func(dir string) []string {
			return []string{program, "lab", "--data", filepath.Join(dir, "lab"),
				// Through the agent, as any service is reached at its public address.
				"--images-url", "http://127.0.0.1:9701",
				"--images", "127.0.0.1:9801", "--networks", "127.0.0.1:9802", "--servers", "127.0.0.1:9803"}
		},
	}
}

// names returns the services by port.
func (a *Application) names() []string {
	var names []string
	for n := range a.Services {
		names = append(names, n)
	}
	slices.SortFunc(names, func(x, y string) int { return a.Services[x] - a.Services[y] })
	return names
}

func (a *Application) listener(service string) string {
	return fmt.Sprintf("127.0.0.1:%d", a.Services[service]-100)
}

func (a *Application) upstream(service string) string {
	return fmt.Sprintf("http://127.0.0.1:%d", a.Services[service])
}

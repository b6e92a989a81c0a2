package demo

import (
	"context"
	_ "embed"
	"path/filepath"
	"strings"
	"time"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/testnet/openstack"
	"github.com/skerry/skerry/testnet/site"
)

// application is what the demo can put its agents in front of.
type application struct {
	name     string
	catalog  []byte
	services []string // in the order of their ports
	beside   []string // what else of an instance listens, with ports that follow
	// furnish prepares all sites before their instances start, in the folder of the demo; nil is nothing.
	furnish func(ctx context.Context, dir string, members []*member) error
	// command runs the instance of a site.
	command func(m *member) []string
	// health is a path that the first service answers with 200 once it runs; where ready is set, that tells instead.
	health string
	ready  func(ctx context.Context, m *member) error
	// alongside belongs to the instance of a site and runs until ctx ends; nil is nothing.
	alongside func(ctx context.Context, m *member) error
	// starting is how long all sites have to be ready.
	starting time.Duration
	// walkthrough is what to try with several sites, alone the one thing with one, made of the address of the first service.
	walkthrough string
	alone       step
}

// Names of applications on the command line.
const (
	appLab    = "lab"
	appGlance = "glance"

	appKubernetes = "kubernetes"
)

//go:embed walkthrough.txt
var walkLab string

//go:embed walkthrough-glance.txt
var walkGlance string

var applications = map[string]*application{
	appLab: {
		name:     appLab,
		catalog:  lab.Catalog,
		services: []string{lab.Images, lab.Networks, lab.Servers},
		command: func(m *member) []string {
			argv := []string{m.program, "lab", "--data", filepath.Join(m.config.Dir, "lab"),
				// The servers service reaches images through the agent, as it would reach any service at its public
				// address: so a scope can follow its requests.
				"--images-url", "http://" + m.service(lab.Images).Listen}
			for _, s := range m.config.Services {
				argv = append(argv, "--"+s.Name, upstream(s))
			}
			return argv
		},
		health:      "/-/requests",
		starting:    2 * time.Minute,
		walkthrough: walkLab,
		alone: step{"Create an image here: without a scope a request goes to the application as it is.",
			"curl -s -H 'Content-Type: application/json' -d '{\"name\":\"debian\"}' {{images .A}}"},
	},
	appKubernetes: appOfKubernetes,
	appGlance: {
		name:     appGlance,
		catalog:  catalogs.Glance,
		services: []string{openstack.Image},
		furnish: func(ctx context.Context, dir string, members []*member) error {
			database := filepath.Join(dir, "glance.db")
			if err := openstack.NewGlanceDatabase(ctx, database); err != nil {
				return err
			}
			for _, m := range members {
				if err := m.glance().Furnish(database); err != nil {
					return err
				}
			}
			return nil
		},
		command:     func(m *member) []string { return m.glance().Command() },
		health:      "/v2/images",
		starting:    5 * time.Minute, // on a machine that is busy with other things
		walkthrough: walkGlance,
		alone: step{"Create an image here: without a scope a request goes to Glance as it is.",
			"curl -s -H 'Content-Type: application/json' -d '{\"name\":\"debian\"}' {{image .A}}/v2/images"},
	},
}

// glance is the site's instance of it.
func (m *member) glance() openstack.Glance {
	return openstack.Glance{Dir: filepath.Join(m.config.Dir, "glance"), Address: upstream(m.service(openstack.Image))}
}

// upstream is where a service of the application listens.
func upstream(s site.Service) string { return strings.TrimPrefix(s.Upstream, "http://") }

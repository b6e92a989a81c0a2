package site

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Agent is an agent that Mesh can start.
type Agent interface {
	Config() *Config
	Client() *Client
	// Launch starts the process. Ended returns how it ended, nil while it runs.
	Launch() error
	Ended() error
}

// Mesh starts the agents as one mesh: the first founds it, the others are invited by it. An agent whose data
// directory holds something is a member already and started as it is. Mesh returns when all are ready and reach each other.
func Mesh[A Agent](ctx context.Context, agents []A) error {
	token := ""
	for i, a := range agents {
		c := a.Config()
		if i > 0 && c.fresh() {
			if token == "" {
				v, err := agents[0].Client().Invite(ctx, len(agents)-1)
				if err != nil {
					return fmt.Errorf("invite the other sites to %s: %w", agents[0].Config().Name, err)
				}
				token = v.Token
			}
			if err := c.keep(token); err != nil {
				return err
			}
		}
		if err := Up(ctx, a, i == 0); err != nil {
			return err
		}
	}
	for _, a := range agents {
		if err := a.Client().Ready(ctx, a.Ended); err != nil {
			return fmt.Errorf("wait for %s: %w", a.Config().Name, err)
		}
	}
	var names []string
	for _, a := range agents {
		names = append(names, a.Config().Name)
	}
	for _, a := range agents {
		if err := a.Client().Reach(ctx, names, a.Ended); err != nil {
			return fmt.Errorf("wait for %s to reach the others: %w", a.Config().Name, err)
		}
	}
	return nil
}

// Up writes the configuration of an agent and starts it; with wait it returns when the agent is ready.
func Up(ctx context.Context, a Agent, wait bool) error {
	if err := a.Config().Write(); err != nil {
		return err
	}
	if err := a.Launch(); err != nil {
		return err
	}
	if !wait {
		return nil
	}
	if err := a.Client().Ready(ctx, a.Ended); err != nil {
		return fmt.Errorf("wait for %s: %w", a.Config().Name, err)
	}
	return nil
}

// fresh reports whether the agent has no data yet.
func (c *Config) fresh() bool {
	entries, err := os.ReadDir(c.Data())
	return err != nil || len(entries) == 0
}

// keep puts an invitation beside the configuration.
func (c *Config) keep(token string) error {
	c.Join = filepath.Join(c.Dir, "invitation")
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("keep invitation of %s: %w", c.Name, err)
	}
	if err := os.WriteFile(c.Join, []byte(token+"\n"), 0o600); err != nil {
		return fmt.Errorf("keep invitation of %s: %w", c.Name, err)
	}
	return nil
}

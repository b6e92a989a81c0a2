package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/env"
)

// kubectlRuns is how often each command of kubectl runs each way.
const kubectlRuns = 50

// manifest is how many objects one kubectl apply has.
const manifest = 500

// clusterScope is that of what is replicated.
const clusterScope = "paris & nantes"

// kubernetes measures what an agent adds to kubectl and what many objects cost, with Kubernetes itself.
func kubernetes(ctx context.Context, b *bench) error {
	begin := time.Now()
	programs, err := cluster.Build(ctx, filepath.Join("testnet", "apps", "kubernetes"))
	if err != nil {
		return err
	}
	built := time.Since(begin)
	in := func(dir string) *cluster.Cluster { return cluster.Ports(dir, programs) }
	setup := env.Setup{
		Program: b.Program, Sites: []string{"paris", "nantes"},
		Application: env.Application{Catalog: cluster.Catalog, Services: map[string]int{cluster.Service: 9801}, Health: "/health",
			Command: func(dir string) []string { return in(dir).Command() },
			Ready: func(ctx context.Context, s *env.Site) error {
				return in(s.Config().Dir).Ready(ctx, s.HTTP().Transport.(*http.Transport), s.ApplicationEnded)
			}},
		Before: func(dir string) error { return in(dir).Furnish() },
		Prepare: func(s *env.Site) error {
			c, at := in(s.Config().Dir), &s.Config().Services[0]
			at.Upstream, at.UpstreamCA, at.Token, at.TLS = c.URL(), c.CA(), c.AgentToken(), [2]string{c.CA(), c.Key()}
			for file, scope := range map[string]string{"agent.kube": "", "scoped.kube": "/~scope/" + url.PathEscape(clusterScope)} {
				text, err := c.Through(at.Listen + scope)
				if err == nil {
					err = os.WriteFile(filepath.Join(s.Config().Dir, file), text, 0o600)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	return b.environment(ctx, setup, func(e *env.Env) error {
		k := &kubectl{program: filepath.Join(programs, "kubectl"), paris: e.Site("paris"), nantes: e.Site("nantes")}
		var err error
		if k.api, err = in(k.paris.Config().Dir).Transport(k.paris.HTTP().Transport.(*http.Transport)); err != nil {
			return err
		}
		defer k.api.CloseIdleConnections()
		if k.other, err = in(k.nantes.Config().Dir).Transport(k.nantes.HTTP().Transport.(*http.Transport)); err != nil {
			return err
		}
		defer k.other.CloseIdleConnections()
		b.report.table("Kubernetes", "what", "measured")
		b.report.row("building its programs, or finding them built", built.Round(time.Millisecond).String())
		if err := k.commands(ctx, b); err != nil {
			return err
		}
		if err := k.manifests(ctx, b); err != nil {
			return err
		}
		return k.objects(ctx, b)
	})
}

// kubectl runs it at paris.
type kubectl struct {
	program       string
	paris, nantes *env.Site
	api, other    *http.Transport // to the listeners and clusters of paris and nantes
}

// run returns how long one command takes, with the configuration of that name.
func (k *kubectl) run(ctx context.Context, config, input string, args ...string) (time.Duration, error) {
	argv := k.paris.Host().Command(append([]string{k.program}, args...)...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(k.paris.Config().Dir, config), "HOME="+k.paris.Config().Dir)
	cmd.Stdin = strings.NewReader(input)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return time.Since(begin), err
}

// commands compares kubectl past the agent, through it, and with a scope of two sites, turn by turn.
func (k *kubectl) commands(ctx context.Context, b *bench) error {
	configs := []string{"direct.yaml", "agent.kube", "scoped.kube"}
	took := map[string][]time.Duration{}
	var lag []time.Duration
	for i := range kubectlRuns {
		for way, config := range configs {
			name := fmt.Sprintf("c%d-%d", way, i)
			for _, command := range [][]string{{"create", "configmap", name, "--from-literal=a=b"}, {"get", "configmap", name}, {"apply", "-f", "-"}} {
				input := ""
				if command[0] == "apply" {
					input = fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"a":"c"}}`, name)
				}
				d, err := k.run(ctx, config, input, command...)
				if err != nil {
					return err
				}
				took[command[0]+config] = append(took[command[0]+config], d)
				if way == 2 && command[0] == "apply" {
					seen, err := until(ctx, time.Now(), 2*time.Millisecond, time.Minute, func() (bool, error) {
						text, err := k.get(ctx, k.other, "/api/v1/namespaces/default/configmaps/"+name)
						return strings.Contains(text, `"a":"c"`), err
					})
					if err != nil {
						return err
					}
					lag = append(lag, seen)
				}
			}
		}
	}
	median := func(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }
	for _, command := range []string{"get", "create", "apply"} {
		direct := median(took[command+configs[0]])
		for way, what := range []string{"past the agent", "through it", "with the scope " + clusterScope} {
			d := median(took[command+configs[way]])
			b.report.row(fmt.Sprintf("kubectl %s %s, median of %d", command, what, kubectlRuns), fmt.Sprintf("%s (%.2f)", ms(d), d.Seconds()/direct.Seconds()))
		}
	}
	b.report.row("from the end of kubectl apply at paris until nantes shows it, median", ms(median(lag)))
	return nil
}

// manifests compares one kubectl apply of many config maps past the agent, through it, and with a scope of two sites, turn by turn.
func (k *kubectl) manifests(ctx context.Context, b *bench) error {
	direct := time.Duration(0)
	ways := []struct{ what, config string }{{"past the agent", "direct.yaml"}, {"through it", "agent.kube"}, {"with the scope " + clusterScope, "scoped.kube"}}
	for _, how := range [][]string{nil, {"--server-side"}} {
		took := make([][]time.Duration, len(ways))
		for i := range 3 {
			for n, way := range ways {
				var objects strings.Builder
				for j := range manifest {
					fmt.Fprintf(&objects, "---\n"+`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"manifest%d-%d-%d-%d"},"data":{"a":"c"}}`+"\n", len(how), n, i, j)
				}
				d, err := k.run(ctx, way.config, objects.String(), append([]string{"apply", "-f", "-"}, how...)...)
				if err != nil {
					return err
				}
				took[n] = append(took[n], d)
			}
		}
		for n, way := range ways {
			d := slices.Sorted(slices.Values(took[n]))[1]
			if n == 0 {
				direct = d
			}
			b.report.row(fmt.Sprintf("one kubectl apply %sof %d config maps %s, median of 3", strings.Join(append(how, ""), " "), manifest, way.what),
				fmt.Sprintf("%s (%.2f)", ms(d), d.Seconds()/direct.Seconds()))
		}
	}
	return nil
}

// get asks the API server at the other end of a transport; what is not there is empty.
func (k *kubectl) get(ctx context.Context, to *http.Transport, path string) (string, error) {
	return k.ask(ctx, to, http.MethodGet, "https://127.0.0.1:6443"+path, "")
}

func (k *kubectl) ask(ctx context.Context, to *http.Transport, method, url, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+cluster.UserToken)
	r.Header.Set("Content-Type", "application/json")
	resp, err := to.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return "", err
	case resp.StatusCode == http.StatusNotFound:
		return "", nil
	case resp.StatusCode > 299:
		return "", fmt.Errorf("%s %s: %s: %.300s", method, url, resp.Status, text)
	}
	return string(text), nil
}

// objects makes many objects in both clusters.
func (k *kubectl) objects(ctx context.Context, b *bench) error {
	empty, err := resident(k.paris)
	if err != nil {
		return err
	}
	b.report.row("memory of the agent then", mib(empty))
	to := "https://" + k.paris.Config().Services[0].Listen + "/~scope/" + url.PathEscape(clusterScope) + "/api/v1/namespaces/default/configmaps"
	begin := time.Now()
	makers, making := errgroup.WithContext(ctx)
	makers.SetLimit(16)
	for i := range b.Objects {
		makers.Go(func() error {
			_, err := k.ask(making, k.api, http.MethodPost, to, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many-%d"},"data":{"a":"b"}}`, i))
			return err
		})
	}
	if err := makers.Wait(); err != nil {
		return err
	}
	took := time.Since(begin)
	b.report.row(fmt.Sprintf("creating %d config maps in both, with 16 callers", b.Objects), fmt.Sprintf("%s, %s", took.Round(time.Second), perSecond(float64(b.Objects)/took.Seconds())))
	lag, err := until(ctx, time.Now(), 100*time.Millisecond, 30*time.Minute, func() (bool, error) {
		text, err := k.get(ctx, k.other, "/api/v1/namespaces/default/configmaps?limit=1")
		var list struct {
			Metadata struct{ RemainingItemCount int }
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &list)
		}
		return list.Metadata.RemainingItemCount+1 >= b.Objects+kubectlRuns, err
	})
	if err != nil {
		return err
	}
	b.report.row("until the other cluster has them too", lag.Round(time.Millisecond).String())
	for _, s := range []*env.Site{k.paris, k.nantes} {
		full, err := resident(s)
		if err != nil {
			return err
		}
		b.report.row("memory of the agent of "+s.Name()+" then", mib(full))
	}
	return k.watches(ctx, b)
}

// watches compares how fast a watch brings the objects that there are: past the agent, through it, and of both clusters as one stream.
func (k *kubectl) watches(ctx context.Context, b *bench) error {
	listener := "https://" + k.paris.Config().Services[0].Listen
	direct := 0.0
	for _, way := range []struct{ what, at string }{
		{"past the agent", "https://127.0.0.1:6443"},
		{"through it", listener},
		{"with the scope " + clusterScope, listener + "/~scope/" + url.PathEscape(clusterScope)},
	} {
		var rates []float64
		for range 5 {
			rate, err := k.watch(ctx, way.at)
			if err != nil {
				return fmt.Errorf("watch %s: %w", way.what, err)
			}
			rates = append(rates, rate)
		}
		slices.Sort(rates)
		rate := rates[len(rates)/2]
		if direct == 0 {
			direct = rate
		}
		b.report.row("events of a watch "+way.what+", median of 5", fmt.Sprintf("%s (%.2f)", perSecond(rate), rate/direct))
	}
	return nil
}

// watch returns how many events a second a watch of all config maps brings, from its request until it has brought those that there are.
func (k *kubectl) watch(ctx context.Context, at string) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at += "/api/v1/namespaces/default/configmaps?resourceVersion=0"
	text, err := k.ask(ctx, k.api, http.MethodGet, at, "")
	if err != nil {
		return 0, err
	}
	var list struct{ Items []struct{} }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"&watch=true", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+cluster.UserToken)
	begin := time.Now()
	resp, err := k.api.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for range list.Items {
		line, err := lines.ReadString('\n')
		if err == nil && !strings.Contains(line, `"ADDED"`) {
			err = errors.New("no new object")
		}
		if err != nil {
			return 0, fmt.Errorf("%w: %s: %.300s", err, resp.Status, line)
		}
	}
	return float64(len(list.Items)) / time.Since(begin).Seconds(), nil
}

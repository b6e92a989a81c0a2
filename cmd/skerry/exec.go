package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/client"
)

// service is one service of the application, as the agent's API tells it.
type service struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Glue string `json:"glue"`
	// Certificates says that the cluster is told whose certificate a client has shown.
	Certificates bool `json:"certificates"`
	// ServerName is whom its certificate is for, where that is not the address in URL.
	ServerName string `json:"server_name"`
	// everywhere says that it listens at all addresses of its machine.
	everywhere bool
}

type execCommand struct {
	Scope   string   `required:"" placeholder:"SCOPE" help:"The scope that every request gets, such as '{images: paris & nantes}'."`
	Service string   `placeholder:"NAME" help:"The service that {url} and SKERRY_URL stand for, and that a scope without a service is for."`
	Cluster bool     `hidden:"" help:"The service is the one that is a cluster of Kubernetes."`
	Command []string `arg:"" passthrough:"" help:"The command and its arguments."`
}

func (execCommand) Help() string {
	return `Runs an unmodified client so that every request that it makes to this site's services carries the scope. While it
runs, a proxy on a port of this machine adds it. The client finds the proxy in one of two ways:

It uses the HTTP proxy that the environment names (http_proxy, HTTP_PROXY), as curl does: it asks the services at their
own addresses. Requests to anything else pass as they are. For services of HTTPS the proxy has a certificate of an authority that is made
for this run: SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, OS_CACERT and NODE_EXTRA_CA_CERTS name it beside those that are trusted
anyway. A client that heeds none of them refuses the certificate, and nothing goes out without the scope.

Or it takes a base URL: {url} in its arguments, and SKERRY_URL, stand for that of the service of --service, {url:NAME}
and SKERRY_URL_NAME for that of another one.

Clients of Kubernetes find the agent by their kubeconfig (skerry kubeconfig writes one): while the command runs, KUBECONFIG names
copies in which the addresses of this site's clusters carry the scope. Those whose users have tokens come through the proxy; what shows
a certificate, or asks a program for it, goes past it, with the scope and without Skerry-After.

A request that has a scope already keeps it. Behind the proxy each request comes after what the command has written before, at
whichever site it is answered (Skerry-After). The exit status is that of the command, 128 and its number when a signal
has ended it, 127 when there is no such command.

Examples:

    skerry exec --scope '{images: paris & nantes}' -- curl -d '{"name":"debian"}' http://127.0.0.1:9701/images
    skerry exec --scope 'paris & nantes' --service images -- curl {url}/images
    skerry exec --scope 'paris & nantes' --service cluster -- kubectl create deployment purple --image=nginx
    skerry exec --scope '{servers: nantes}' -- sh -c 'my-client --endpoint "$SKERRY_URL_SERVERS"'`
}

// ended is how a command ended that this program has run for somebody else; it needs no words.
type ended struct{ status int }

func (e ended) Error() string { return fmt.Sprintf("the command ended with status %d", e.status) }

func (c *execCommand) Run(ctx context.Context, p *program) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if len(c.Command) == 0 {
		return usagef("there is no command to run: give it after --")
	}
	if c.Cluster {
		s, err := (&kubeconfigCommand{Service: c.Service}).cluster(ctx, p)
		if err != nil {
			return err
		}
		c.Service = s.Name
	}
	text, err := c.checked(ctx, p)
	if err != nil {
		return err
	}
	services, err := servicesHere(ctx, p)
	if err != nil {
		return err
	}
	if c.Service != "" && !slices.ContainsFunc(services, func(s service) bool { return s.Name == c.Service }) {
		return usagef("there is no service %q at this site", c.Service)
	}
	x, err := startProxy(ctx, text, services, p.api.Transport(), p.environ())
	if err != nil {
		return err
	}
	defer x.close()
	args, err := c.arguments(x)
	if err != nil {
		return err
	}
	trust, forget, err := x.trusted(p.environ())
	if err != nil {
		return err
	}
	defer forget()
	configs, remove, err := scopedKubeconfigs(p.environ(), services, text, x)
	if err != nil {
		return err
	}
	defer remove()
	return p.runCommand(args, c.environment(p.environ(), x, configs, trust))
}

// checked returns the scope in its canonical form, each binding with its service where that is known.
func (c *execCommand) checked(ctx context.Context, p *program) (string, error) {
	s, err := scope.Parse(c.Scope)
	if err != nil {
		var syntax *scope.SyntaxError
		if errors.As(err, &syntax) {
			return "", usageError{&problemList{strings.Split(syntax.Picture(), "\n")}}
		}
		return "", usageError{err}
	}
	if c.Service != "" {
		s = s.Named(c.Service)
	}
	b, err := p.api.Post(ctx, "/scope/explain", map[string]any{"scope": s.String(), "service": c.Service})
	if err != nil {
		return "", err
	}
	e, err := client.Decode[explanation](b)
	if err != nil {
		return "", err
	}
	if len(e.Errors) > 0 {
		var lines []string
		for _, w := range e.Errors {
			lines = append(lines, strings.Split(w.Detail, "\n")...)
		}
		return "", &problemList{lines}
	}
	return s.String(), nil
}

// arguments puts addresses in place of {url} and {url:NAME}.
func (c *execCommand) arguments(x *scopeProxy) ([]string, error) {
	args := slices.Clone(c.Command)
	for i, a := range args {
		if strings.Contains(a, "{url}") {
			base, ok := x.bases[c.Service]
			if !ok {
				return nil, usagef("{url} is the address of which service? Name it with --service, or write {url:NAME}")
			}
			a = strings.ReplaceAll(a, "{url}", base)
		}
		for name, base := range x.bases {
			a = strings.ReplaceAll(a, "{url:"+name+"}", base)
		}
		if args[i] = a; strings.Contains(a, "{url:") {
			return nil, usagef("%s names no service of this site", a)
		}
	}
	return args, nil
}

// environment returns what the command finds in its environment: what this program has found, and the proxy. Nothing is exempt from
// the proxy: it knows itself what it is to leave alone.
func (c *execCommand) environment(env []string, x *scopeProxy, kubeconfigs string, trust map[string]string) []string {
	set := map[string]string{"http_proxy": x.url, "HTTP_PROXY": x.url, "no_proxy": "", "NO_PROXY": ""}
	if x.stand != nil {
		set["https_proxy"], set["HTTPS_PROXY"] = x.url, x.url
		maps.Copy(set, trust)
	}
	if kubeconfigs != "" {
		set["KUBECONFIG"] = kubeconfigs
	}
	if base, ok := x.bases[c.Service]; ok {
		set["SKERRY_URL"] = base
	}
	for name, base := range x.bases {
		set["SKERRY_URL_"+variable(name)] = base
	}
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, ours := set[name]
		return ours
	})
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return env
}

// variable writes the name of a service as a part of an environment variable's.
func variable(service string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, service)
}

// runCommand runs a command to its end. Signals go on to it, apart from those that a terminal sends to all that run in it.
func (p *program) runCommand(args, env []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, p.in, p.out, p.errs
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(p.errs, "skerry: %s cannot be run: %v\n", clean(args[0]), errors.Unwrap(err))
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return ended{127}
		}
		return ended{126}
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-signals:
				if (s == os.Interrupt || s == syscall.SIGQUIT) && onTerminal(p.in) {
					continue
				}
				_ = cmd.Process.Signal(s) // it may have ended meanwhile
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("run %s: %w", args[0], err)
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return ended{128 + int(w.Signal())}
	}
	return ended{exit.ExitCode()}
}

// onTerminal reports whether what a command reads is a terminal.
func onTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

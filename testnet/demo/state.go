package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/skerry/skerry/testnet/site"
)

// state is what the running demo tells the other commands.
type state struct {
	PID   int         `json:"pid"`
	Sites []stateSite `json:"sites"`
}

type stateSite struct {
	Name string `json:"name"`
	API  string `json:"api"` // base URL
}

var errNoDemo = errors.New("no demo is running; start one with: skerry demo")

// stateFile returns the path of the file, in a directory that belongs to this user alone.
func stateFile() (string, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("skerry-%d", os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a directory of this user", dir)
	}
	return filepath.Join(dir, "skerry-demo.json"), nil
}

// claim makes this process the running demo until the file is closed.
func claim() (*os.File, error) {
	path, err := stateFile()
	if err != nil {
		return nil, fmt.Errorf("find the state file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errors.New("a demo is running already; stop it first (Ctrl-C in its terminal)"), f.Close())
	}
	// What the last one left must not be taken for this one's before it is ready.
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("empty the state file: %w", err), f.Close())
	}
	return f, nil
}

// publish writes s into the claimed file.
func (s *state) publish(f *os.File) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(append(b, '\n'), 0); err != nil {
		return fmt.Errorf("write the state file: %w", err)
	}
	return nil
}

// readState returns what the running demo says.
func readState() (*state, error) {
	path, err := stateFile()
	if err != nil {
		return nil, fmt.Errorf("find the state file: %w", err)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoDemo
	}
	if err != nil {
		return nil, fmt.Errorf("open the state file: %w", err)
	}
	defer f.Close()
	// A lock that can be had means that the demo has ended, in whatever way.
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return nil, errNoDemo
	}
	var s state
	if err := json.NewDecoder(f).Decode(&s); err != nil {
		return nil, errors.New("the demo is still starting")
	}
	return &s, nil
}

func (s *state) site(name string) (stateSite, error) {
	var names []string
	for _, x := range s.Sites {
		if x.Name == name {
			return x, nil
		}
		names = append(names, x.Name)
	}
	return stateSite{}, fmt.Errorf("no site %q in the running demo; there are %s", name, strings.Join(names, ", "))
}

func (s stateSite) client() *site.Client { return &site.Client{Base: s.API, HTTP: http.DefaultClient} }

// reaches lists whom a site reaches, for people.
func reaches(seen []site.Seen) string {
	var up, down []string
	for _, x := range seen {
		switch {
		case x.Self:
		case x.Reachable:
			up = append(up, x.Name)
		default:
			down = append(down, x.Name)
		}
	}
	text := strings.Join(up, ", ")
	if len(up) == 0 {
		text = "nobody"
	}
	if len(down) > 0 {
		text += "; not " + strings.Join(down, ", ")
	}
	return text
}

// program is how the user called this program.
func program() string { return os.Args[0] }

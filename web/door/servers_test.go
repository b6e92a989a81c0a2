package door_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answering is an application that tells in its answer what it was asked, and how many requests it has had.
func answering(asked *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		n := asked.Add(1)
		if err != nil {
			return
		}
		w.Header().Set("X-Asked", strconv.FormatInt(n, 10))
		_, _ = fmt.Fprintf(w, "%s %s %q", r.Method, r.RequestURI, b)
	})
}

// The same for gunicorn.
const answeringInPython = `
import itertools
asked = itertools.count(1)

def app(environ, start):
    body = environ["wsgi.input"].read()
    told = '%s %s "%s"' % (environ["REQUEST_METHOD"], environ["RAW_URI"], body.decode("latin-1"))
    b = told.encode("latin-1")
    start("200 OK", [("Content-Length", str(len(b))), ("X-Asked", str(next(asked)))])
    return [b]
`

const inFront = `
daemon off; master_process off; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  upstream application { server %[3]s; keepalive 8; }
  server { listen %[2]s; location / { proxy_pass http://application; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`

// free is an address that nothing listens on: what dials gets its own from 127.0.0.1.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.79.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a server, waits until it takes connections, and ends it with the test.
func run(t *testing.T, address string, argv ...string) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command("setpriv", append([]string{"--pdeathsig", "KILL"}, argv...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin")
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", argv[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for begin := time.Now(); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case how := <-ended:
			ended <- how
			t.Fatalf("%s has ended: %v\n%s", argv[0], how, said.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s takes no connections: %v", argv[0], err)
		}
	}
}

// servers are applications of three kinds: net/http, gunicorn, and gunicorn behind nginx.
func servers(t *testing.T) map[string]string {
	t.Helper()
	var asked atomic.Int64
	ours := httptest.NewServer(answering(&asked))
	t.Cleanup(ours.Close)
	folder := t.TempDir()
	config := filepath.Join(folder, "nginx.conf")
	python, behind, front := free(t), free(t), free(t)
	for path, content := range map[string]string{filepath.Join(folder, "answering.py"): answeringInPython, config: fmt.Sprintf(inFront, folder, front, behind)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, address := range []string{python, behind} {
		run(t, address, "gunicorn", "--chdir", folder, "--bind", address, "--worker-class", "gthread", "--threads", "8", "--keep-alive", "60", "answering:app")
	}
	run(t, front, "nginx", "-e", filepath.Join(folder, "error.log"), "-c", config)
	return map[string]string{"net/http": strings.TrimPrefix(ours.URL, "http://"), "gunicorn": python, "nginx before gunicorn": front}
}

// had is how many requests an application has had, this one left out.
func had(t *testing.T, address string) int {
	t.Helper()
	resp, err := http.Get("http://" + address + "/count")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := strconv.Atoi(resp.Header.Get("X-Asked"))
	if err != nil {
		t.Fatal(err)
	}
	return n - 1
}

package intercept

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The page opens a WebSocket where it came from, says something there again whenever it is answered, and then tells what it has heard.
const talkative = `<!doctype html><title>t</title><script>
let heard = [];
const socket = new WebSocket("ws://" + location.host + "/socket", ["lab"]);
socket.onopen = () => socket.send("0");
socket.onmessage = e => { heard.push(e.data); heard.length < 5 ? socket.send(String(heard.length)) : socket.close(1000, "enough"); };
socket.onclose = e => fetch("/told?" + [socket.protocol, e.code, e.wasClean, ...heard].join(","));
socket.onerror = () => heard.push("error");
</script>`

// TestBrowsersWebSocket has a browser load a page through a site, and talk over a WebSocket with the application behind it.
func TestBrowsersWebSocket(t *testing.T) {
	s := newMesh(t).sites[paris]
	told := make(chan string, 1)
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, talkative)
		case "/socket":
			repeatFrames(t, w, r)
		case "/told":
			told <- r.URL.RawQuery
		}
	})
	folder, err := os.MkdirTemp("", "browser-")
	if err != nil {
		t.Fatal(err)
	}
	browser := exec.Command("setpriv", "--pdeathsig", "KILL", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-domain-reliability", "--no-pings",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+folder, s.url+"/")
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = browser.Process.Kill()
		_ = browser.Wait()
		_ = os.RemoveAll(folder) // processes of it may yet write there
	}()
	select {
	case got := <-told:
		if want := "lab,1000,true,0,1,2,3,4"; got != want {
			t.Errorf("the browser tells %s, want %s", got, want)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("the browser tells nothing")
	}
}

// repeatFrames is a WebSocket (RFC 6455) that says again what it hears, and takes leave when the client does. Frames are short.
func repeatFrames(t *testing.T, w http.ResponseWriter, r *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: "+
		r.Header.Get("Sec-WebSocket-Protocol")+"\r\nSec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	for {
		var head [6]byte // with the mask
		if _, err := io.ReadFull(rw, head[:]); err != nil {
			return
		}
		body := make([]byte, head[1]&0x7f)
		if _, err := io.ReadFull(rw, body); err != nil {
			t.Error(err)
			return
		}
		for i := range body {
			body[i] ^= head[2+i%4]
		}
		_, _ = conn.Write(append([]byte{head[0], byte(len(body))}, body...))
		if head[0]&0xf == 8 {
			if code := binary.BigEndian.Uint16(body); code != 1000 {
				t.Errorf("the browser takes leave with %d", code)
			}
			return
		}
	}
}

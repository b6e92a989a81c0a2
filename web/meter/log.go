package meter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Format is how a line of the access log is written.
type Format string

// The formats.
const (
	// JSON is an object a line.
	JSON Format = "json"
	// Common is the Common Log Format of web servers, https://www.w3.org/Daemon/User/Config/Logging.html#common-logfile-format.
	Common Format = "common"
)

// Log is an access log. It is safe for concurrent use; a nil one takes nothing.
type Log struct {
	format Format
	one    uint64 // of so many requests one is written
	count  atomic.Uint64
	log    *slog.Logger

	mu   sync.Mutex
	file io.WriteCloser
	out  *bufio.Writer
	lost bool // lines could not be written since the last one that could
}

// flushing is how long a line may wait for others.
const flushing = time.Second

// Open returns a log that goes on at the end of a file, with mode 0640 if it is made; "-" is the standard output. Of so many requests one is
// written, and every one that the client got a status of 500 or more for.
func Open(path string, format Format, one int, log *slog.Logger) (*Log, error) {
	l := &Log{format: format, one: uint64(max(one, 1)), log: log, file: os.Stdout}
	if path != "-" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err != nil {
			return nil, fmt.Errorf("open the access log: %w", err)
		}
		l.file = f
	}
	l.out = bufio.NewWriterSize(l.file, 64<<10)
	return l, nil
}

// Run writes lines that wait until ctx ends.
func (l *Log) Run(ctx context.Context) {
	t := time.NewTicker(flushing)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.mu.Lock()
			l.done(l.out.Flush())
			l.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// Close writes the last lines and closes the file. It is called once, after all requests have been told.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.out.Flush()
	if l.file != os.Stdout {
		err = errors.Join(err, l.file.Close())
	}
	if err != nil {
		return fmt.Errorf("close the access log: %w", err)
	}
	return nil
}

// write takes a request. No request fails for a line that cannot be written: lines are lost then, which the agent's log says once.
func (l *Log) write(r Request) {
	if l == nil || r.Status < 500 && l.count.Add(1)%l.one != 0 {
		return
	}
	line := r.json
	if l.format == Common {
		line = r.common
	}
	b := line()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.out.Write(b); err != nil {
		l.done(err)
	}
}

// done takes what has come of writing to the file.
func (l *Log) done(err error) {
	if err != nil {
		l.out.Reset(l.file) // which an error has stopped for good
	}
	if err != nil && !l.lost {
		l.log.Warn("lines of the access log are lost", "err", err)
	}
	l.lost = err != nil
}

func (r Request) json() []byte {
	b, err := json.Marshal(struct {
		Time    time.Time `json:"time"`
		Service string    `json:"service"`
		Client  string    `json:"client,omitempty"`
		Method  string    `json:"method,omitempty"`
		Path    string    `json:"path,omitempty"`
		Proto   string    `json:"protocol,omitempty"`
		Scope   string    `json:"scope,omitempty"`
		Status  int       `json:"status"`
		Bytes   *int64    `json:"bytes,omitempty"`
		Took    float64   `json:"duration_ms"`
		Trace   string    `json:"trace_id,omitempty"`
	}{r.At.UTC(), string(r.Service), r.client(""), r.Method, r.Path, r.Proto, r.Scope, r.Status, r.bytes(), float64(r.Took.Microseconds()) / 1000, r.Trace})
	if err != nil {
		panic(err) // such a value can be written
	}
	return append(b, '\n')
}

func (r Request) bytes() *int64 {
	if r.Length < 0 {
		return nil
	}
	return &r.Length
}

func (r Request) client(none string) string {
	if !r.Client.IsValid() {
		return none
	}
	return r.Client.String()
}

// common is a line as the Common Log Format has it. What a client has written stands in it without anything that could end the field or the line.
func (r Request) common() []byte {
	quoted := func(s string) string { s = strconv.QuoteToASCII(s); return s[1 : len(s)-1] }
	bytes := "-"
	if r.Length >= 0 {
		bytes = strconv.FormatInt(r.Length, 10)
	}
	request := strings.TrimSpace(quoted(r.Method) + " " + quoted(r.Path) + " " + quoted(r.Proto))
	return fmt.Appendf(nil, "%s - - [%s] \"%s\" %03d %s\n", r.client("-"), r.At.Format("02/Jan/2006:15:04:05 -0700"), request, r.Status, bytes)
}

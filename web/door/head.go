package door

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/skerry/skerry/web/traces"
)

// Field is one line of a head. Its bytes are those that came in; they are valid until the message has been passed on.
type Field struct {
	Name, Value []byte
	// Drop has it left out of what is passed on.
	Drop bool
}

// Is reports whether it has a name, which is written in lower case here. Names are compared without case.
func (f *Field) Is(name string) bool { return len(f.Name) == len(name) && f.begins(name) }

// Begins reports whether its name begins so.
func (f *Field) Begins(prefix string) bool { return len(f.Name) >= len(prefix) && f.begins(prefix) }

func (f *Field) begins(prefix string) bool {
	for i := range len(prefix) {
		if lower(f.Name[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// Request is the head of a request that may be plain, and what is known of its client.
type Request struct {
	Method string
	// Path and Query are the target as it came in; the query keeps its question mark.
	Path, Query string
	Host        []byte
	Fields      []Field
	// Remote is where it comes from, and Client that as an address of the Internet, not valid for anything else; TLS is nil where it came without.
	Remote net.Addr
	Client netip.Addr
	TLS    *tls.ConnectionState
	// Add are lines that the application gets beside, each with its end; Answer are such lines for the client.
	Add, Answer []byte
	// Target is the path that the application gets; empty: Path.
	Target string
	// To is who answers; nil: the application of the Door.
	To *Links
	// Turn makes the application's answer what the client gets; nil: it passes as it is.
	Turn Turner
	// Scope and Leave are the desk's, for Told: the scope that it has read, and what is to be done then. They are empty before Plain.
	Scope string
	Leave func(let bool)
	// Trace is the desk's as well: whether the request is traced.
	Trace traces.Mark

	length  int64 // of the body, -1: it is chunked
	closes  bool  // the client wants no answer after this one
	special bool  // no plain request of HTTP/1.1
}

var (
	errHead = errors.New("the head of the request is malformed")
	errLong = errors.New("the head of the request is too long")
	// errUnknownCoding is a transfer coding that nobody here knows.
	errUnknownCoding = errors.New("the transfer coding is not known")
)

// end finds the end of a head in b, of which what is before from was looked at already: the length of the head, or 0 while it is not all
// there. With strict a line that does not end with CR and LF is an error.
func end(b []byte, from int, strict bool) (int, error) {
	for i := max(from-3, 0); ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0, nil
		}
		if i += n; strict && (i == 0 || b[i-1] != '\r') {
			return 0, errHead
		}
		i++
		switch {
		case i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n':
			return i + 2, nil
		case i < len(b) && b[i] == '\n' && !strict:
			return i + 1, nil
		}
	}
}

// line takes the first line off a head.
func line(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	line, rest = b[:i], b[i+1:]
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

// what may stand in a token, as names of methods and fields are, and in the value of a field (RFC 9110, 5.5 and 5.6.2).
var tokens, values, targets, hosts = set("!#$%&'*+-.^_`|~", 0), set("\t !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 0x80), set("!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 0),
	set("!$%&'()*+,-.:;=[]_~", 0)

func set(marks string, from int) (s [256]bool) {
	for _, c := range []byte(marks + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		s[c] = true
	}
	for i := from; from > 0 && i < 256; i++ {
		s[i] = true
	}
	return s
}

func all(b []byte, of *[256]bool) bool {
	for _, c := range b {
		if !of[c] {
			return false
		}
	}
	return true
}

// fields reads the lines of a head up to the empty one, which is its last. Folds are lines that go on with the one before, which old
// servers write; they are made one line, in b itself.
func fields(b []byte, into []Field, folds bool) ([]Field, error) {
	for {
		var l []byte
		if l, b = line(b); len(l) == 0 {
			return into, nil
		}
		if l[0] == ' ' || l[0] == '\t' {
			if !folds || len(into) == 0 || !all(l, &values) {
				return nil, errHead
			}
			last := &into[len(into)-1]
			last.Value = bytes.TrimSpace(append(append(last.Value[:len(last.Value):len(last.Value)], ' '), bytes.TrimLeft(l, " \t")...))
			continue
		}
		i := bytes.IndexByte(l, ':')
		if i <= 0 || !all(l[:i], &tokens) {
			return nil, errHead
		}
		value := l[i+1:]
		for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
			value = value[1:]
		}
		for n := len(value); n > 0 && (value[n-1] == ' ' || value[n-1] == '\t'); n-- {
			value = value[:n-1]
		}
		if !all(value, &values) {
			return nil, errHead
		}
		into = append(into, Field{Name: l[:i], Value: value})
	}
}

// read reads a whole head. An error is for the client.
func (r *Request) read(b []byte) (err error) {
	*r = Request{Fields: r.Fields[:0], Add: r.Add[:0], Answer: r.Answer[:0], Remote: r.Remote, Client: r.Client, TLS: r.TLS}
	first, rest := line(b)
	method, target, ok := bytes.Cut(first, []byte(" "))
	target, version, ok2 := bytes.Cut(target, []byte(" "))
	if !ok || !ok2 || len(method) == 0 || len(target) == 0 || !all(method, &tokens) || bytes.ContainsAny(target, "\r\t\x00") ||
		len(version) != 8 || string(version[:5]) != "HTTP/" || version[6] != '.' {
		return errHead
	}
	r.Method = methodOf(method)
	path, query := target, []byte(nil)
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		path, query = target[:i], target[i:]
	}
	r.Path, r.Query = string(path), string(query)
	r.special = string(version) != "HTTP/1.1" || target[0] != '/' || !all(target, &targets) || !escaped(target) || r.Method == http.MethodConnect
	if r.Fields, err = fields(rest, r.Fields, false); err != nil {
		return err
	}
	return r.frame(string(version) == "HTTP/1.1")
}

// escaped reports whether all percent signs begin an escaped byte.
func escaped(b []byte) bool {
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '%')
		if n < 0 {
			return true
		}
		if i += n; i+2 >= len(b) || hex(b[i+1]) < 0 || hex(b[i+2]) < 0 {
			return false
		}
		i += 3
	}
}

// frame finds out where the request ends and what of it is for its connection alone.
func (r *Request) frame(current bool) error {
	lengths, codings, hosted, connections := 0, 0, 0, 0
	for i := range r.Fields {
		f := &r.Fields[i]
		switch len(f.Name) {
		case 2:
			r.special = r.special || f.Is("te")
		case 4:
			if f.Is("host") {
				hosted++
				r.Host = f.Value
			}
		case 6:
			r.special = r.special || f.Is("expect")
		case 7:
			r.special = r.special || f.Is("upgrade") || f.Is("trailer")
		case 10:
			if f.Is("connection") {
				connections++
				f.Drop = true
				value := Field{Name: f.Value}
				r.closes = value.Is("close")
				r.special = r.special || !r.closes && !value.Is("keep-alive") || connections > 1
			}
			f.Drop = f.Drop || f.Is("keep-alive")
		case 14:
			if f.Is("content-length") {
				n, ok := length(f.Value)
				if lengths++; !ok {
					return errHead
				}
				r.length = n
			}
		case 16:
			f.Drop = f.Is("proxy-connection")
		case 17:
			if f.Is("transfer-encoding") {
				value := Field{Name: f.Value}
				if codings++; !value.Is("chunked") {
					return errUnknownCoding
				}
				r.length = -1
			}
		case 18, 19:
			f.Drop = f.Drop || f.Is("proxy-authenticate") || f.Is("proxy-authorization")
		}
	}
	switch {
	case lengths+codings > 1, hosted > 1, current && hosted == 0, codings > 0 && !current, !all(r.Host, &hosts):
		return errHead
	}
	return nil
}

// length reads the value of Content-Length.
func length(b []byte) (int64, bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

// methodOf is a method as a text; those that come often need no memory.
func methodOf(b []byte) string {
	switch string(b) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodPost:
		return http.MethodPost
	case http.MethodPut:
		return http.MethodPut
	}
	return string(b)
}

// Proto is http or https.
func (r *Request) Proto() string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// repeatable reports whether it does no harm that the application gets the request twice.
func (r *Request) repeatable() bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return r.length == 0
	}
	return false
}

// Bare reports whether the request has no body.
func (r *Request) Bare() bool { return r.length == 0 }

// head appends what the application gets.
func (r *Request) head(b []byte, prefix string) []byte {
	b = append(append(append(append(append(append(b, r.Method...), ' '), prefix...), cmp.Or(r.Target, r.Path)...), r.Query...), " HTTP/1.1\r\n"...)
	return append(append(write(b, r.Fields), r.Add...), "\r\n"...)
}

func write(b []byte, fields []Field) []byte {
	for i := range fields {
		if f := &fields[i]; !f.Drop {
			b = append(append(append(append(b, f.Name...), ": "...), f.Value...), "\r\n"...)
		}
	}
	return b
}

// answer is the head of an answer of the application.
type answer struct {
	status int
	reason []byte
	fields []Field
	length int64 // of the body; -1: it is chunked; -2: it ends with the connection
	closes bool  // the application wants no request after this one
}

// read reads a whole head of an answer to a method, which an agent has given or an application. An error says what is wrong with it.
func (a *answer) read(b []byte, method string, agent bool) (err error) {
	*a = answer{fields: a.fields[:0], length: -2}
	first, rest := line(b)
	if len(first) < 12 || string(first[:7]) != "HTTP/1." || first[7] != '0' && first[7] != '1' || first[8] != ' ' || len(first) > 12 && first[12] != ' ' {
		return fmt.Errorf("the answer begins with %.40q", first)
	}
	n, ok := length(first[9:12])
	if !ok || n < 100 || !all(first[12:], &values) {
		return fmt.Errorf("the answer begins with %.40q", first)
	}
	if a.status, a.reason = int(n), first[12:]; len(a.reason) == 0 {
		a.reason = []byte(" ")
	}
	if a.fields, err = fields(rest, a.fields, true); err != nil {
		return fmt.Errorf("the answer has a malformed head: %.200q", rest)
	}
	current := first[7] == '1'
	a.closes = !current
	chunked, lengths := false, 0
	for i := range a.fields {
		f := &a.fields[i]
		switch {
		case f.Is("connection"):
			f.Drop = true
			a.connection(f.Value)
		case f.Is("keep-alive"), f.Is("proxy-connection"), f.Is("proxy-authenticate"), f.Is("proxy-authorization"), f.Is("te"), f.Is("upgrade"):
			f.Drop = true
		case f.Begins("skerry-"): // only agents say these
			f.Drop = !agent
		case f.Is("transfer-encoding"):
			value := Field{Name: f.Value}
			if chunked || !value.Is("chunked") || !current {
				return fmt.Errorf("the answer has the transfer coding %.40q", f.Value)
			}
			chunked, f.Drop = true, true
		case f.Is("content-length"):
			n, ok := length(f.Value)
			if !ok || lengths > 0 && n != a.length {
				return fmt.Errorf("the answer has the length %.40q", f.Value)
			}
			f.Drop = lengths > 0
			lengths++
			a.length = n
		}
	}
	a.frame(method, chunked, lengths)
	return nil
}

// connection takes in what one line says of the connection: fields that it names are for it alone.
func (a *answer) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte(",")) {
		option = bytes.ToLower(bytes.TrimSpace(option))
		a.closes = a.closes || string(option) == "close"
		for i := range a.fields {
			if f := &a.fields[i]; f.Is(string(option)) && !f.Is("content-length") && !f.Is("transfer-encoding") {
				f.Drop = true
			}
		}
	}
}

// frame finds out where the answer ends.
func (a *answer) frame(method string, chunked bool, lengths int) {
	empty := a.status < 200 || a.status == http.StatusNoContent
	if chunked || empty { // a length beside is not believed
		a.closes = a.closes || chunked && lengths > 0
		for i := range a.fields {
			f := &a.fields[i]
			f.Drop = f.Drop || f.Is("content-length")
		}
	}
	switch {
	case empty, method == http.MethodHead, a.status == http.StatusNotModified:
		a.length = 0
	case chunked:
		a.length = -1
	case lengths == 0:
		a.length, a.closes = -2, true
	}
}

// head appends what the client gets; add are lines beside.
func (a *answer) head(b []byte, add []byte, last bool) []byte {
	b = append(strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(a.status), 10), a.reason...)
	b = append(b, "\r\n"...)
	b = append(write(b, a.fields), add...)
	if a.length < 0 {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
)

// Problem is a refusal, in the form of RFC 9457.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// Error has the sentence for people first, then the type, which scripts and the documentation know it by.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	return fmt.Sprintf("%s (%s)", text, p.Name())
}

// Name is the end of the type, such as "unreachable".
func (p *Problem) Name() string { return p.Type[strings.LastIndexByte(p.Type, '/')+1:] }

// AddressError says that an address is none that an agent could be asked at.
type AddressError struct {
	text string
	// InClear reports whether a secret would go there that anybody on the way could read.
	InClear bool
}

func (e *AddressError) Error() string { return e.text }

// Unreachable says that the agent gave no answer, or that what answers cannot be trusted.
type Unreachable struct {
	text string
	// Untrusted reports whether something answers whose certificate cannot be checked.
	Untrusted bool
	// Silent reports whether something took the request and did not answer in time.
	Silent bool
	cause  error
}

func (e *Unreachable) Error() string { return e.text }
func (e *Unreachable) Unwrap() error { return e.cause }

// Stranger says that what answers is no agent.
type Stranger struct{ text string }

func (e *Stranger) Error() string { return e.text }

func (c *Client) unreachable(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return &Unreachable{text: fmt.Sprintf("the agent at %s does not answer", c.base), Silent: true, cause: err}
	}
	why := err
	var dial *net.OpError
	var no syscall.Errno
	if certificate := (*tls.CertificateVerificationError)(nil); errors.As(err, &certificate) {
		return &Unreachable{text: fmt.Sprintf("the certificate of %s cannot be trusted (%v)", c.base, certificate.Err), Untrusted: true, cause: err}
	}
	if errors.As(err, &no) {
		why = no
	} else if errors.As(err, &dial) {
		why = dial.Err
	}
	return &Unreachable{text: fmt.Sprintf("no agent answers at %s (%v)", c.base, why), cause: err}
}

func (c *Client) stranger(res *http.Response) error {
	return &Stranger{fmt.Sprintf("what answers at %s is no Skerry agent (%s, %s)", c.base, res.Status, res.Header.Get("Content-Type"))}
}

package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// session is the cookie of one who has logged in.
const session = "__Host-skerry"

// Login opens a session as a browser would, for the calls that follow. The password goes nowhere else.
func (c *Client) Login(ctx context.Context, account, password string) error {
	if !strings.HasPrefix(c.base, "https://") {
		return &AddressError{text: fmt.Sprintf("a password for %s would travel in clear", c.base), InClear: true}
	}
	res, err := c.form(ctx, "/login", url.Values{"name": {account}, "password": {password}})
	if err != nil {
		return err
	}
	for _, k := range res.Cookies() {
		if k.Name == session {
			c.token, c.cookie = "", k.Name+"="+k.Value
			return nil
		}
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 where it is not told
		return fmt.Errorf("too many attempts to log in have failed: try again in %d s", seconds)
	case http.StatusUnauthorized:
		return errors.New("the name or the password is wrong")
	}
	return c.stranger(res)
}

// Logout ends the session; it would end by itself later.
func (c *Client) Logout(ctx context.Context) {
	if _, err := c.form(ctx, "/logout", nil); err == nil {
		c.cookie = ""
	}
}

// form sends a form of the dashboard and returns the answer without its body.
func (c *Client) form(ctx context.Context, path string, values url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "text/html")
	if c.cookie != "" {
		req.Header.Set("Cookie", c.cookie)
	}
	direct := &http.Client{Transport: c.http.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := direct.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	return res, res.Body.Close()
}

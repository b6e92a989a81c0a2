package openstack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/glue/strictyaml"
)

// Cloud is one of a file clouds.yaml: where its Keystone is, and who asks. What is not understood here is passed over.
type Cloud struct {
	Name, AuthURL, CA, Region, Interface string
	auth                                 map[string]string
}

// known are the words of clouds.yaml under "auth" that are understood.
var known = []string{"auth_url", "username", "user_id", "password", "user_domain_name", "user_domain_id", "project_name", "project_id",
	"project_domain_name", "project_domain_id", "application_credential_id", "application_credential_secret"}

// ParseClouds reads the clouds of a file. Those of secure, which may be nil, have what the file keeps out, such as passwords.
func ParseClouds(name string, b, secure []byte) (clouds []Cloud, err error) {
	d, err := strictyaml.Parse(name, b)
	if err != nil {
		return nil, err
	}
	for _, e := range d.Root().Mapping("file of clouds").Required("clouds").Mapping("list of clouds").Entries() {
		m := e.Value.Mapping("cloud")
		c := Cloud{Name: e.Key, Region: m.Optional("region_name").Text(), CA: m.Optional("cacert").Text(), Interface: m.Optional("interface").Text(), auth: map[string]string{}}
		c.read(m)
		clouds = append(clouds, c)
	}
	if err := d.Err(); err != nil || secure == nil {
		return clouds, err
	}
	if d, err = strictyaml.Parse("secure.yaml", secure); err != nil {
		return nil, err
	}
	for _, e := range d.Root().Mapping("file of clouds").Required("clouds").Mapping("list of clouds").Entries() {
		if i := slices.IndexFunc(clouds, func(c Cloud) bool { return c.Name == e.Key }); i >= 0 {
			clouds[i].read(e.Value.Mapping("cloud"))
		}
	}
	return clouds, d.Err()
}

func (c *Cloud) read(m *strictyaml.Mapping) {
	auth := m.Optional("auth").Mapping("way to log in")
	for _, word := range known {
		if v := auth.Optional(word); v.Present() {
			c.auth[word] = v.Text()
		}
	}
	c.AuthURL = c.auth["auth_url"]
}

// LogIn asks the cloud's Keystone for a token, and where the services of the cloud are, by their types.
func (c Cloud) LogIn(ctx context.Context, t http.RoundTripper) (token string, services map[string]string, err error) {
	base, err := url.Parse(c.AuthURL)
	if err != nil || base.Host == "" {
		return "", nil, fmt.Errorf("the cloud %s has no auth_url", c.Name)
	}
	if !strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/v3") {
		base = base.JoinPath("v3")
	}
	body, err := json.Marshal(map[string]any{"auth": c.login()})
	if err != nil {
		return "", nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath("auth", "tokens").String(), bytes.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := t.RoundTrip(r)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return "", nil, err
	}
	if resp.StatusCode != http.StatusCreated {
		return "", nil, fmt.Errorf("the Keystone at %s does not let %s in (%d): see what clouds.yaml says of the user", base, c.Name, resp.StatusCode)
	}
	var told struct {
		Token struct {
			Catalog []struct {
				Type      string
				Endpoints []struct{ Interface, Region, URL string }
			}
		}
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return "", nil, fmt.Errorf("read what Keystone answers: %w", err)
	}
	services = map[string]string{}
	for _, s := range told.Token.Catalog {
		for _, e := range s.Endpoints {
			if (c.Region == "" || e.Region == c.Region) && (c.Interface == "" && e.Interface == "public" || e.Interface == c.Interface) && services[s.Type] == "" {
				services[s.Type] = e.URL
			}
		}
	}
	return resp.Header.Get("X-Subject-Token"), services, nil
}

// login is who asks, in Keystone's form.
func (c Cloud) login() map[string]any {
	if id := c.auth["application_credential_id"]; id != "" {
		return map[string]any{"identity": map[string]any{"methods": []string{"application_credential"},
			"application_credential": map[string]any{"id": id, "secret": c.auth["application_credential_secret"]}}}
	}
	user := map[string]any{"password": c.auth["password"]}
	if id := c.auth["user_id"]; id != "" {
		user["id"] = id
	} else {
		user["name"], user["domain"] = c.auth["username"], c.domain("user")
	}
	login := map[string]any{"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": user}}}
	if id := c.auth["project_id"]; id != "" {
		login["scope"] = map[string]any{"project": map[string]any{"id": id}}
	} else if name := c.auth["project_name"]; name != "" {
		login["scope"] = map[string]any{"project": map[string]any{"name": name, "domain": c.domain("project")}}
	}
	return login
}

// domain is the one of the user or the project.
func (c Cloud) domain(of string) map[string]string {
	if name := c.auth[of+"_domain_name"]; name != "" {
		return map[string]string{"name": name}
	}
	if id := c.auth[of+"_domain_id"]; id != "" {
		return map[string]string{"id": id}
	}
	return map[string]string{"id": "default"}
}

package page

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
)

// draft is a request being composed, and what is known of it.
type draft struct {
	Service, Method, Path, ContentType, Body, Scope string
	Services, Paths                                 []string
	// Words are what a scope can be made of, each with what it is.
	Words      []word
	Beginnings []beginning
	Begin      string // what it began with, and Like the object that it was made like
	Like       string
	Fill       bool // the request is to be as it begins
	Build      builderModel
	API        string // this server's address, for the command line

	// Back is what is brought back, empty where nothing is.
	Back string

	Explanation *api.Explanation
	Wrong       string // why it was refused
	Operation   string // that the refusal names
	Answer      *api.Answer
}

// word is something that a scope can be made of.
type word struct{ Text, Is string }

// words lists the names of this mesh and the functions of the language, for completion.
func (p *Page) words() []word {
	var all []word
	for _, s := range p.siteOptions() {
		all = append(all, word{s, "site"})
	}
	for _, z := range p.api.Zones() {
		all = append(all, word{z.Name, "zone"})
	}
	for _, s := range p.api.Services {
		all = append(all, word{string(s.Name) + ":", "service"})
	}
	for _, f := range []string{"around(", "quorum(", "sync("} {
		all = append(all, word{f, "function"})
	}
	return all
}

func (p *Page) draft(c echo.Context) draft {
	d := draft{
		Service: c.FormValue("service"), Method: c.FormValue("method"), Path: c.FormValue("path"),
		ContentType: c.FormValue("content_type"), Body: c.FormValue("body"), Scope: c.FormValue("scope"),
		API: "http://" + c.Request().Host,
	}
	if c.Request().TLS != nil {
		d.API = "https://" + c.Request().Host
	}
	d.Services, _ = p.services()
	for _, s := range p.api.Services {
		for _, k := range s.Kinds() {
			d.Paths = append(d.Paths, k.Collection, k.Item)
		}
	}
	d.Words, d.Beginnings = p.words(), p.beginnings()
	d.Begin, d.Like = c.FormValue("begin"), strings.TrimSpace(c.FormValue("like"))
	if d.Fill = c.FormValue("do") == "fill" || c.Request().Method == http.MethodGet && c.FormValue("do") == ""; d.Fill {
		d.begin()
	}
	if d.Service == "" && len(p.api.Services) > 0 {
		s := p.api.Services[0]
		d.Service, d.Method = string(s.Name), http.MethodPost
		if kinds := s.Kinds(); len(kinds) > 0 {
			d.Path = kinds[0].Collection
		}
	}
	d.Build = p.builder(d.Service)
	if form, err := c.FormParams(); err == nil {
		d.Scope = d.Build.take(form, d.Service, d.Scope)
	}
	return d
}

// explain fills in what the draft's scope means.
func (p *Page) explain(c echo.Context, d *draft) error {
	r := api.ExplainRequest{Scope: d.Scope, Service: d.Service, Method: d.Method, Path: d.Path}
	if json.Valid([]byte(d.Body)) {
		r.Body = json.RawMessage(d.Body)
	}
	e, err := p.api.Explain(c.Request().Context(), r)
	if err != nil {
		refusal, told := refusalOf(err)
		if !told {
			return err
		}
		d.Wrong = refusal.Detail
		return nil
	}
	d.Explanation = &e
	if d.Wrong == "" && d.sendsJSON() && strings.TrimSpace(d.Body) != "" && r.Body == nil {
		d.Wrong = "The body is not JSON: mend it, or give its content type."
	}
	return nil
}

func (d *draft) sendsJSON() bool {
	t := strings.TrimSpace(strings.ToLower(strings.Split(d.ContentType, ";")[0]))
	return t == "" || t == "application/json" || strings.HasSuffix(t, "+json")
}

// request turns the draft into what the API issues.
func (d *draft) request() api.IssueRequest {
	r := api.IssueRequest{Service: d.Service, Method: d.Method, Path: d.Path, Scope: d.Scope}
	if t := strings.TrimSpace(d.ContentType); t != "" && strings.TrimSpace(d.Body) != "" {
		r.Headers = map[string]string{"Content-Type": t}
	}
	switch {
	case strings.TrimSpace(d.Body) == "":
	case d.sendsJSON():
		r.Body = json.RawMessage(d.Body)
	default:
		r.Body, _ = json.Marshal(d.Body) // a string can always be encoded
	}
	return r
}

// command is the draft as a command line that does the same.
func (d *draft) command() string {
	r := d.request()
	if len(r.Body) > 0 && !json.Valid(r.Body) {
		return ""
	}
	m := map[string]any{"service": r.Service, "method": r.Method, "path": r.Path}
	if r.Scope != "" {
		m["scope"] = r.Scope
	}
	if r.Headers != nil {
		m["headers"] = r.Headers
	}
	if len(r.Body) > 0 {
		m["body"] = r.Body
	}
	quoted := "'" + strings.ReplaceAll(compact(m), "'", `'\''`) + "'"
	return "curl " + d.API + "/api/v1/operations -H 'Content-Type: application/json' \\\n  -d " + quoted
}

func (p *Page) compose(c echo.Context) error {
	d := p.draft(c)
	if id := c.QueryParam("back"); id != "" {
		r, err := p.api.BringBack(c.Request().Context(), id)
		if err != nil {
			return p.Fail(c, err)
		}
		d.Service, d.Method, d.Path, d.Scope, d.Body, d.Back = r.Service, r.Method, r.Path, r.Scope, string(r.Body), id
		if t := r.Headers["Content-Type"]; t != "" {
			d.ContentType = t
		}
		d.Build.read(d.Service, d.Scope)
	}
	return p.filled(c, d)
}

// filled shows a draft as it begins.
func (p *Page) filled(c echo.Context, d draft) error {
	if d.Fill && d.Like != "" {
		if err := p.liken(c.Request().Context(), &d); err != nil {
			return p.Fail(c, err)
		}
	}
	if err := p.explain(c, &d); err != nil {
		return p.Fail(c, err)
	}
	return p.showCompose(c, http.StatusOK, d)
}

func (p *Page) showCompose(c echo.Context, status int, d draft) error {
	f := p.frame(c, "Compose a request", "compose", "")
	f.Reload = "" // what is being written must stay
	return render(c, status, composeView(f, d))
}

// check answers with the explanation alone, for the form that asks while it is being written.
func (p *Page) check(c echo.Context) error {
	d := p.draft(c)
	if err := p.explain(c, &d); err != nil {
		return p.Fail(c, err)
	}
	return render(c, http.StatusOK, checkedView(d, p.api.Now()))
}

// send checks the draft, or issues it and goes to the operation that it became.
func (p *Page) send(c echo.Context) error {
	d := p.draft(c)
	if d.Fill {
		return p.filled(c, d)
	}
	if err := p.explain(c, &d); err != nil {
		return p.Fail(c, err)
	}
	if c.FormValue("do") == "check" || d.Wrong != "" {
		return p.showCompose(c, http.StatusOK, d)
	}
	in := c.Request()
	out, err := p.api.Issue(in.Context(), d.request(), "", in.RemoteAddr)
	if err != nil {
		r, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		d.Wrong, d.Operation = r.Detail, string(r.Operation)
		return p.showCompose(c, r.Status, d)
	}
	if out.Operation != nil {
		return c.Redirect(http.StatusSeeOther, operationURL(out.Operation.ID))
	}
	d.Answer = &out.Answer
	return p.showCompose(c, http.StatusOK, d)
}

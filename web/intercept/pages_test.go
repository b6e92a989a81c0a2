package intercept

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// pager is an application that lists two items a page, those from its own marker on. It tells where that goes on in a header, in
// its answer, or with whole addresses there.
func (m *mesh) pager(id engine.SiteID, style string, items ...string) {
	m.sites[id].app.set(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if item, ok := strings.CutPrefix(r.URL.Path, "/images/"); ok {
			_ = json.NewEncoder(w).Encode(map[string]any{"id": item, "count": 2})
			return
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if style == "number" {
			from = 2 * max(0, page-1)
		}
		to := min(from+2, len(items))
		list := []map[string]any{}
		for _, i := range items[min(from, to):to] {
			list = append(list, map[string]any{"id": i, "count": 2})
		}
		next := ""
		if to < len(items) {
			next = fmt.Sprintf("/images?from=%d&of=%s", to, r.URL.Query().Get("of"))
		}
		switch style {
		case "number":
			_ = json.NewEncoder(w).Encode(list)
		case "header":
			if next != "" {
				w.Header().Set("X-Next", strconv.Itoa(to))
			}
			_ = json.NewEncoder(w).Encode(list)
		case "cursor":
			answer := map[string]any{"items": list, "next": nil}
			if next != "" {
				answer["next"] = strconv.Itoa(to)
			}
			_ = json.NewEncoder(w).Encode(answer)
		case "link":
			w.Header().Add("Link", `</images>; rel="first"`)
			if next != "" {
				w.Header().Add("Link", "<"+next+`>; rel="next"`)
			}
			_ = json.NewEncoder(w).Encode(list)
		case "whole":
			next = strings.Replace(next, "/", "http://"+r.Host+"/", 1)
			fallthrough
		case "body":
			answer := map[string]any{"items": list}
			if next != "" {
				answer["next"] = next
			}
			_ = json.NewEncoder(w).Encode(answer)
		}
	})
}

// walk follows a list to its end and returns the identifiers of each page.
func (s *siteUnderTest) walk(t *testing.T, style, scope string) (pages []string) {
	t.Helper()
	next := "/images?of=x"
	for n := 1; next != ""; n++ {
		if style == "number" {
			next = "/images?page=" + strconv.Itoa(n)
		}
		a := s.do("GET", next, "", "Scope: "+scope)
		a.want(t, 200, "Skerry-Next: -", "Skerry-Homes: -")
		var page struct {
			Items []struct {
				ID    string
				Count int
			}
			Next *string
		}
		next = ""
		if strings.HasPrefix(a.body, "[") {
			if err := json.Unmarshal([]byte(a.body), &page.Items); err != nil {
				t.Fatal(err)
			}
			for _, link := range a.header.Values("Link") {
				if target, ok := strings.CutSuffix(link, `>; rel="next"`); ok {
					next = target[1:]
				}
			}
			if text := a.header.Get("X-Next"); text != "" {
				next = "/images?of=x&from=" + url.QueryEscape(text)
			}
		} else if err := json.Unmarshal([]byte(a.body), &page); err != nil {
			t.Fatal(err)
		} else if page.Next != nil {
			if next = *page.Next; style == "cursor" {
				next = "/images?of=x&from=" + url.QueryEscape(next)
			}
		}
		ids := []string{}
		for _, i := range page.Items {
			ids = append(ids, i.ID)
			if i.ID == "X" {
				ids[len(ids)-1] += "=" + strconv.Itoa(i.Count)
			}
		}
		slices.Sort(ids)
		pages = append(pages, strings.Join(ids, " "))
		if style == "whole" {
			next = strings.TrimPrefix(next, s.url)
		}
		if style == "number" {
			next = "more"
			if len(page.Items) == 0 && n > 5 {
				return pages
			}
		}
	}
	return pages
}

// However the applications give their lists, and wherever it is in them: what is replicated is listed once, all else as well.
func TestListsInPages(t *testing.T) {
	for _, style := range []string{"link", "body", "whole", "number", "header", "cursor"} {
		t.Run(style, func(t *testing.T) {
			m := newMesh(t)
			switch style {
			case "body", "whole":
				m.list = &glue.List{Items: "/items", Next: "/next"}
			case "number":
				m.list = &glue.List{Page: "page"}
			case "header":
				m.list = &glue.List{NextHeader: "X-Next", Parameter: "from"}
			case "cursor":
				m.list = &glue.List{Items: "/items", Next: "/next", Parameter: "from"}
			}
			m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
			m.replicate("N", map[engine.SiteID]engine.LocalID{paris: "7", nantes: "43"})
			m.replicate("O", map[engine.SiteID]engine.LocalID{nantes: "44", lyon: "9"})
			m.replicate("P", map[engine.SiteID]engine.LocalID{paris: "8", nantes: "45", lyon: "10"})
			m.pager(paris, style, "p1", "p2", "6", "8", "p3", "7")
			m.pager(nantes, style, "44", "42", "45", "n1", "43")
			m.pager(lyon, style, "10", "9")
			for _, at := range []engine.SiteID{paris, lyon} {
				pages := m.sites[at].walk(t, style, "*")
				all := strings.Fields(strings.Join(pages, " "))
				slices.Sort(all)
				if want := []string{"M", "N", "O", "P", "n1", "p1", "p2", "p3"}; !slices.Equal(all, want) {
					t.Errorf("at %s: %q", at, pages)
				}
			}
			// This site has nothing, and is not asked.
			pages := m.sites[lyon].walk(t, style, "paris & nantes")
			all := strings.Fields(strings.Join(pages, " "))
			slices.Sort(all)
			if want := []string{"M", "N", "O", "P", "n1", "p1", "p2", "p3"}; !slices.Equal(all, want) {
				t.Errorf("from outside: %q", pages)
			}
		})
	}
}

// What is spread over sites is one item, made of all its parts, in whichever pages of their lists these are.
func TestCrossResourcesInPages(t *testing.T) {
	kind := *imageKind
	kind.Aggregate = []engine.Aggregate{{At: "/count", By: engine.AggregateSum}}
	m := newMeshOf(t, &kind, request.Limits{}, 0)
	m.replicate("X", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	for _, id := range []engine.SiteID{paris, nantes} {
		row := m.sites[id].resources["X"]
		row.Collaboration = engine.Cross
		row.Sites[paris], row.Sites[nantes] = engine.ReplicaStatus{Local: "6", Part: 1}, engine.ReplicaStatus{Local: "42", Part: 2}
		m.sites[id].resources["X"] = row
	}
	m.pager(paris, "link", "p1", "p2", "6")
	m.pager(nantes, "link", "42", "n1", "n2")
	for _, at := range []engine.SiteID{paris, lyon} {
		all := strings.Fields(strings.Join(m.sites[at].walk(t, "link", "paris & nantes"), " "))
		slices.Sort(all)
		if want := []string{"X=4", "n1", "n2", "p1", "p2"}; !slices.Equal(all, want) {
			t.Errorf("at %s: %q", at, all)
		}
	}
}

// A site that does not answer is named in every page after that, and what others have of its list comes from them.
func TestListsInPagesWithoutASite(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	m.pager(paris, "link", "p1", "p2", "6", "p3", "p4")
	m.pager(nantes, "link", "42", "n1", "n2")
	s := m.sites[paris]
	s.cut(nantes)
	a := s.do("GET", "/images", "", "Scope: paris & nantes").want(t, 200, "Skerry-Missing: nantes", "Skerry-Site: paris")
	s.down = map[engine.SiteID]bool{}
	next := strings.TrimSuffix(strings.TrimPrefix(a.header.Values("Link")[1], "<"), `>; rel="next"`)
	a = s.do("GET", next, "", "Scope: paris & nantes").want(t, 200, "Skerry-Missing: nantes", "Skerry-Site: paris")
	if strings.TrimSpace(a.body) != `[{"count":2,"id":"M"},{"count":2,"id":"p3"}]` {
		t.Error(a.body)
	}
	// The site that has the rest is lost: nothing is left that could be told.
	next = strings.TrimSuffix(strings.TrimPrefix(a.header.Values("Link")[1], "<"), `>; rel="next"`)
	s.app.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	s.do("GET", next, "", "Scope: paris & nantes").want(t, 503)
}

func TestPagesFromElsewhere(t *testing.T) {
	m := newMesh(t)
	m.pager(paris, "link", "1", "2", "3")
	m.pager(nantes, "link", "1", "2", "3")
	s := m.sites[paris]
	a := s.do("GET", "/~scope/paris%20&%20nantes/images", "").want(t, 200)
	next := strings.TrimSuffix(strings.TrimPrefix(a.header.Values("Link")[1], "<"), `>; rel="next"`)
	if !strings.HasPrefix(next, "/~scope/paris%20&%20nantes/images?skerry-page=") {
		t.Fatal(next)
	}
	s.do("GET", next, "").want(t, 200)
	_, token, _ := strings.Cut(next, "=")
	m.sites[nantes].do("GET", "/images?skerry-page="+token, "", "Scope: paris & nantes").want(t, 200) // any agent takes it
	for _, c := range []struct{ path, scope, detail string }{
		{"/images?skerry-page=" + token, "paris & lyon", "is of a list with another scope: that one had nantes, paris"},
		{"/images?skerry-page=" + token, "paris", "is of a list over several sites"},
		{"/images?skerry-page=" + token, "nantes", "is of a list over several sites"},
		{"/images?skerry-page=" + token, "", "is of a list over several sites"},
		{"/images?skerry-page=" + token[:len(token)-4], "paris & nantes", "is none that this list has said"},
		{"/images?skerry-page=A" + token[1:], "paris & nantes", "is none that this list has said"},
		{"/images?skerry-page=", "paris & nantes", "is none that this list has said"},
		{"/images?skerry-page=%00", "paris & nantes", "is none that this list has said"},
	} {
		a := s.do("GET", c.path, "", "Scope: "+c.scope)
		a.problem(t, 400, "page")
		if !strings.Contains(a.body, c.detail) {
			t.Errorf("%s, scope %s: %s", c.path, c.scope, a.body)
		}
	}
}

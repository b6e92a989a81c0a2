package acceptance

import (
	"fmt"
	"net/url"
	"sync"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// TestAScopeFollowsAWorkflow boots servers at one site from images of another. The servers service knows nothing of scopes: it passes
// tracing headers on, as any instrumented service does.
func TestAScopeFollowsAWorkflow(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, patience, "the sites have met", func() bool { return reaches(t, s, "paris") && reaches(t, s, "nantes") })
	}
	image := map[string]string{
		"paris":  made(t, paris, lab.Images, "", `{"name":"of paris"}`),
		"nantes": made(t, nantes, lab.Images, "", `{"name":"of nantes"}`),
	}
	network := made(t, paris, lab.Networks, "", `{"name":"front"}`)
	const scope = "{servers: paris, images: nantes}"
	boot := func(path, image string, header ...string) env.Answer {
		return paris.Do(t, lab.Servers, "POST "+path, `{"name":"web","image":"`+image+`","network":"`+network+`"}`, header...)
	}
	prefix := "/~scope/" + url.PathEscape(scope)
	for name, a := range map[string]env.Answer{
		"header":         boot("/servers", image["nantes"], "Scope", scope),
		"path":           boot(prefix+"/servers", image["nantes"]),
		"baggage":        boot("/servers", image["nantes"], "Baggage", "scope="+url.PathEscape(scope)),
		"correlation id": boot("/servers", image["nantes"], "Scope", scope, "X-Request-Id", "r-1"),
	} {
		if a.Status != 201 || a.Text("image") != image["nantes"] || a.Text("network") != network {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	// Not without the scope; and an image of paris is not looked for at paris with it.
	boot("/servers", image["nantes"]).Want(t, 422)
	boot("/servers", image["paris"], "Scope", scope).Want(t, 422)
	// What the scope does not bind is where the request is.
	problem(t, boot("/servers", image["paris"], "Scope", "{images: paris}", "X-Request-Id", "r-1"), 409, "correlation")
	boot("/servers", image["paris"], "Scope", "{networks: nantes}").Want(t, 201)

	// Many workflows at once, each with a scope of its own.
	var wg sync.WaitGroup
	for i := range 48 {
		wg.Go(func() {
			of, other := "paris", "nantes"
			if i%2 == 1 {
				of, other = other, of
			}
			s := "{servers: paris, images: " + of + "}"
			carrier := [][]string{{"Scope", s}, {"Baggage", "scope=" + url.PathEscape(s)}, {"Scope", s, "X-Request-Id", fmt.Sprint("many-", i)}}[i/2%3]
			if a := boot("/servers", image[of], carrier...); a.Status != 201 {
				t.Errorf("%d: an image of %s, with %s: %d %s", i, of, s, a.Status, a.Body)
			}
			if a := boot("/servers", image[other], carrier...); a.Status != 422 {
				t.Errorf("%d: an image of %s, with %s: %d %s", i, other, s, a.Status, a.Body)
			}
		})
	}
	wg.Wait()
}

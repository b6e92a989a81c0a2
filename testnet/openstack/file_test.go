//go:build openstack

package openstack

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

const octets = "application/octet-stream"

// made makes an image through a site's agent.
func made(t *testing.T, s *env.Site, name string, header ...string) (id string) {
	t.Helper()
	return s.Do(t, Image, "POST /v2/images", `{"name":"`+name+`","container_format":"bare","disk_format":"raw"}`, header...).Must(t, 201).Text("id")
}

// file wants a site's own Glance to have these bytes of an image.
func file(t *testing.T, id, want string) func(s *env.Site) error {
	return func(s *env.Site) error {
		if a := s.Application(t, Image, "GET /v2/images/"+id+"/file", ""); a.Status != 200 || a.Body != want {
			return fmt.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
		return nil
	}
}

// fileThereAlready has Glance refuse (409) bytes that it has: that is no conflict. Other bytes are one.
func fileThereAlready(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	large := strings.Repeat(bytes, 100_000/len(bytes))
	same, inline, other := made(t, paris, "same", "Scope", both), made(t, paris, "inline", "Scope", both), made(t, paris, "other", "Scope", both)
	for _, id := range []string{same, inline, other} {
		converged(t, e, id)
	}
	for id, there := range map[string]string{same: large, inline: bytes, other: bytes + "!"} {
		nantes.Application(t, Image, "PUT /v2/images/"+id+"/file", there, "Content-Type", octets).Must(t, 204)
	}
	for id, here := range map[string]string{same: large, inline: bytes, other: bytes} {
		paris.Do(t, Image, "PUT /v2/images/"+id+"/file", here, "Content-Type", octets).Must(t, 204)
	}
	converged(t, e, same)
	converged(t, e, inline)
	shows(t, e, same, "has the file", file(t, same, large))
	shows(t, e, other, "tells that nantes refuses", func(s *env.Site) error {
		a := s.API(t, "GET /api/v1/resources/"+other, "").Must(t, 200)
		if state, reason := a.Text("state"), a.Text("reason"); state == "converged" || !strings.Contains(reason, "nantes") || !strings.Contains(reason, "409") {
			return fmt.Errorf("%s: %s", state, reason)
		}
		return nil
	})
}

// fileOnItsWay gives an image to a second site while its file is still being sent to the first: what there is of it is not taken for all.
func fileOnItsWay(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	id := made(t, paris, "slow")
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1:9292/v2/images/"+id+"/file", reader)
		if err == nil {
			r.Header.Set("Content-Type", octets)
			var resp *http.Response
			if resp, err = paris.HTTP().Do(r); err == nil {
				resp.Body.Close()
				if resp.StatusCode != 204 {
					err = fmt.Errorf("the file is answered with %d", resp.StatusCode)
				}
			}
		}
		reader.CloseWithError(err)
		ended <- err
	}()
	if _, err := io.WriteString(writer, bytes); err != nil {
		t.Fatal(err)
	}
	e.Eventually(t, patience, "paris is saving the file", func() error {
		if status := paris.Application(t, Image, "GET /v2/images/"+id, "").Text("status"); status != "saving" {
			return fmt.Errorf("it is %s", status)
		}
		return nil
	})
	paris.Do(t, Image, "PATCH /v2/images/"+id, `[{"op":"add","path":"/shared","value":"yes"}]`, "Content-Type", jsonPatch, "Scope", both).Must(t, 200)
	e.Eventually(t, patience, "nantes waits for the file", func() error {
		operations, err := nantes.Client().Operations(t.Context(), id)
		if err != nil {
			return err
		}
		var told string
		for _, o := range operations {
			told += nantes.API(t, "GET /api/v1/operations/"+o.ID, "").Must(t, 200).Body
		}
		if !strings.Contains(told, "is being written at paris") {
			return fmt.Errorf("it tells %s", told)
		}
		return nil
	})
	if status := nantes.Application(t, Image, "GET /v2/images/"+id, "").Must(t, 200).Text("status"); status != "queued" {
		t.Errorf("nantes has an image that is %s", status)
	}
	_, err := io.WriteString(writer, bytes)
	writer.Close()
	if there := <-ended; err != nil || there != nil {
		t.Fatal(err, there)
	}
	shows(t, e, id, "has the whole file", file(t, id, bytes+bytes))
	converged(t, e, id)
}

// lists reads images of two sites as one list, and one from whichever site has it.
func lists(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	shared, ofParis, ofNantes := made(t, paris, "listed", "Scope", both), made(t, paris, "of paris"), made(t, nantes, "of nantes")
	converged(t, e, shared)
	for _, s := range e.Sites() {
		a := s.Do(t, Image, "GET /v2/images?name=in:listed,%22of+paris%22,%22of+nantes%22&sort=name:asc", "", "Scope", both).Must(t, 200)
		for _, id := range []string{shared, ofParis, ofNantes} {
			if n := strings.Count(a.Body, `"id":"`+id+`"`) + strings.Count(a.Body, `"id": "`+id+`"`); n != 1 {
				t.Errorf("%s lists %s %d times: %s", s.Name(), id, n, a.Body)
			}
		}
		for _, id := range []string{shared, ofParis, ofNantes} {
			if got := s.Do(t, Image, "GET /v2/images/"+id, "", "Scope", "{image: paris | nantes}").Must(t, 200).Text("id"); got != id {
				t.Errorf("%s reads %s in place of %s", s.Name(), got, id)
			}
		}
		s.Do(t, Image, "GET /v2/images/00000000-0000-4000-8000-000000000000", "", "Scope", "{image: paris | nantes}").Must(t, 404)
	}
	list := output(t, paris, "openstack", "--os-auth-type", "admin_token", "--os-token", "t", "--os-image-api-version", "2",
		"--os-endpoint", "http://127.0.0.1:9192/~scope/paris%20&%20nantes/v2", "image", "list", "-f", "value", "-c", "ID")
	for _, id := range []string{shared, ofParis, ofNantes} {
		if strings.Count(string(list), id) != 1 {
			t.Errorf("the client lists %s, without %s or more than once", list, id)
		}
	}
}

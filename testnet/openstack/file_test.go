//go:build openstack

package openstack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// fileThereAlready has Glance refuse (409) bytes that it has: that is no conflict. Other bytes are one.
func fileThereAlready(t *testing.T, c cloud) {
	paris, nantes := c.Site("paris"), c.Site("nantes")
	large := strings.Repeat(bytes, 100_000/len(bytes))
	same, inline, other := c.made(t, paris, "same", "Scope", both), c.made(t, paris, "inline", "Scope", both), c.made(t, paris, "other", "Scope", both)
	for _, id := range []string{same, inline, other} {
		c.converged(t, id)
	}
	for id, there := range map[string]string{same: large, inline: bytes, other: bytes + "!"} {
		c.glance(t, nantes, "PUT /v2/images/"+id+"/file", there, "Content-Type", octets).Must(t, 204)
	}
	for id, here := range map[string]string{same: large, inline: bytes, other: bytes} {
		c.image(t, paris, "PUT /v2/images/"+id+"/file", here, "Content-Type", octets).Must(t, 204)
	}
	c.converged(t, same)
	c.converged(t, inline)
	c.file(t, same, large)
	c.shows(t, other, "tells that nantes refuses", func(s *env.Site) error {
		a := s.API(t, "GET /api/v1/resources/"+other, "").Must(t, 200)
		if state, reason := a.Text("state"), a.Text("reason"); state == "converged" || !strings.Contains(reason, "nantes") || !strings.Contains(reason, "409") {
			return fmt.Errorf("%s: %s", state, reason)
		}
		return nil
	})
}

// fileOnItsWay gives an image to a second site while its file is still being sent to the first: what there is of it is not taken for all.
func fileOnItsWay(t *testing.T, c cloud) {
	paris, nantes := c.Site("paris"), c.Site("nantes")
	id := c.made(t, paris, "slow")
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1:9292/v2/images/"+id+"/file", reader)
		if err == nil {
			r.Header = http.Header{"Content-Type": {octets}, "X-Auth-Token": {c.tokens[paris]}}
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
	c.Eventually(t, patience, "paris is saving the file", func() error {
		if status := c.glance(t, paris, "GET /v2/images/"+id, "").Text("status"); status != "saving" {
			return fmt.Errorf("it is %s", status)
		}
		return nil
	})
	c.image(t, paris, "PATCH /v2/images/"+id, `[{"op":"add","path":"/shared","value":"yes"}]`, "Content-Type", jsonPatch, "Scope", both).Must(t, 200)
	c.Eventually(t, patience, "nantes waits for the file", func() error {
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
	if status := c.glance(t, nantes, "GET /v2/images/"+id, "").Must(t, 200).Text("status"); status != "queued" {
		t.Errorf("nantes has an image that is %s", status)
	}
	_, err := io.WriteString(writer, bytes)
	writer.Close()
	if there := <-ended; err != nil || there != nil {
		t.Fatal(err, there)
	}
	c.file(t, id, bytes+bytes)

	// Once a Glance has a file it writes the whole image as that was when the file began: what was set meanwhile is lost there. Agents do not undo
	// what an application makes of itself. They tell it, and a person says what counts.
	if a := c.glance(t, paris, "GET /v2/images/"+id, "").Must(t, 200); a.Text("shared") != "" {
		t.Fatalf("Glance has kept what it was expected to lose: %s", a.Body)
	}
	paris.API(t, "POST /api/v1/resources/"+id+"/check", "").Must(t, 202)
	var conflict struct{ ID, About, Site, Reason string }
	c.Eventually(t, patience, "paris tells that it has lost what was set", func() error {
		var list struct {
			Items []struct{ ID, About, Site, Reason string }
		}
		a := paris.API(t, "GET /api/v1/conflicts?resource="+id, "").Must(t, 200)
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil || len(list.Items) != 1 {
			return fmt.Errorf("it tells %s", a.Body)
		}
		conflict = list.Items[0]
		return nil
	})
	if conflict.About != "drift" || conflict.Site != "paris" || !strings.Contains(conflict.Reason, "/shared") {
		t.Errorf("it tells %+v", conflict)
	}
	paris.API(t, "POST /api/v1/conflicts/"+conflict.ID+"/resolve", `{"action":"keep","site":"nantes"}`).Must(t, 200)
	c.shows(t, id, "shows what was set", func(s *env.Site) error {
		if a := c.glance(t, s, "GET /v2/images/"+id, "").Must(t, 200); a.Text("shared") != "yes" {
			return fmt.Errorf("%s", a.Body)
		}
		return nil
	})
	c.converged(t, id)
}

// lists reads images of two sites as one list, and one from whichever site has it.
func lists(t *testing.T, c cloud) {
	paris, nantes := c.Site("paris"), c.Site("nantes")
	shared, ofParis, ofNantes := c.made(t, paris, "listed", "Scope", both), c.made(t, paris, "of paris"), c.made(t, nantes, "of nantes")
	c.converged(t, shared)
	for _, s := range c.Sites() {
		list := c.list(t, s, Image, "GET /v2/images?name=in:listed,%22of+paris%22,%22of+nantes%22&sort=name:asc", both)
		for _, id := range []string{shared, ofParis, ofNantes} {
			if n := strings.Count(list, `"id":"`+id+`"`) + strings.Count(list, `"id": "`+id+`"`); n != 1 {
				t.Errorf("%s lists %s %d times: %s", s.Name(), id, n, list)
			}
		}
		for _, id := range []string{shared, ofParis, ofNantes} {
			if got := c.image(t, s, "GET /v2/images/"+id, "", "Scope", "{image: paris | nantes}").Must(t, 200).Text("id"); got != id {
				t.Errorf("%s reads %s in place of %s", s.Name(), got, id)
			}
		}
		c.image(t, s, "GET /v2/images/00000000-0000-4000-8000-000000000000", "", "Scope", "{image: paris | nantes}").Must(t, 404)
	}
	c.Eventually(t, patience, "the client lists the images of both sites", func() error {
		list := output(t, paris, "openstack", "--os-auth-type", "admin_token", "--os-token", c.tokens[paris], "--os-image-api-version", "2",
			"--os-endpoint", "http://127.0.0.1:9192/~scope/paris%20&%20nantes/v2", "image", "list", "-f", "value", "-c", "ID")
		for _, id := range []string{shared, ofParis, ofNantes} {
			if strings.Count(string(list), id) != 1 {
				return fmt.Errorf("it shows %s, without %s or more than once", list, id)
			}
		}
		return nil
	})
}

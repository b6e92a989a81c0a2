package acceptance

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/lab"
)

// TestWhatTheApplicationStumblesOverEachTimeCanBeEnded has the application fail each time that a client's request comes, which holds its
// resource up. A person ends that while it is still tried: by the command line, by the API, and by the page. Then the resource goes on.
func TestWhatTheApplicationStumblesOverEachTimeCanBeEnded(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris := e.Site("paris")
	command := func(t *testing.T, id string) {
		argv := paris.Host().Command(program, "operations", "drop", id, "--api", paris.Client().Base)
		if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("skerry operations drop: %v\n%s", err, out)
		}
	}
	api := func(decision string) func(*testing.T, string) {
		return func(t *testing.T, id string) {
			paris.API(t, "POST /api/v1/operations/"+id+"/"+decision, "").Must(t, 200)
		}
	}
	page := func(t *testing.T, id string) {
		if p := paris.API(t, "GET /operations/"+id, "").Must(t, 200); !strings.Contains(p.Body, `action="/operations/`+id+`/drop"`) {
			t.Fatalf("the page offers no way to drop it:\n%s", p.Body)
		}
		paris.API(t, "POST /operations/"+id+"/drop", "", "Origin", paris.Client().Base).Must(t, 200)
	}
	for name, c := range map[string]struct {
		service, scope, fault string
		end                   func(*testing.T, string)
		state                 string // of the operation in the end
	}{
		"fails, command":  {lab.Images, both, `"status":500`, command, "rejected"},
		"drops, API":      {lab.Images, both, `"drop":true`, api("drop"), "rejected"},
		"done, API":       {lab.Images, both, `"status":500,"done":true`, api("done"), "applied"},
		"errand, command": {lab.Servers, "{servers: paris ^ nantes}", `"status":500`, command, "rejected"},
		"errand, API":     {lab.Servers, "{servers: paris ^ nantes}", `"drop":true,"done":true`, api("done"), "applied"},
		"errand, page":    {lab.Servers, "{servers: paris ^ nantes}", `"status":500`, page, "rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			method, item, header := "PUT", "/keys/"+strings.ReplaceAll(name, ", ", "-"), []string{"Scope", c.scope}
			body, change := `{"public":"a"}`, `{"public":"b"}`
			if c.service == lab.Images {
				method, item, header = "PATCH", "/images/"+made(t, paris, lab.Images, c.scope, `{"name":"a"}`), append(header, merge...)
				body, change = `{"size":1}`, `{"size":2}`
			} else {
				paris.Do(t, c.service, "PUT "+item, `{"public":"0"}`, header...).Must(t, 201)
			}
			paris.Application(t, c.service, "POST /-/faults", fmt.Sprintf(`{"method":%q,"path":%q,"times":1000000,%s}`, method, item[:strings.LastIndex(item, "/")+1], c.fault)).Must(t, 204)
			first := paris.Do(t, c.service, method+" "+item, body, header...)
			if problem(t, first, 504, "upstream"); t.Failed() {
				return
			}
			id := first.Header.Get("Skerry-Operation")
			e.Eventually(t, patience, "a person can end it", func() error {
				var o struct{ Actions []string }
				if err := json.Unmarshal([]byte(paris.API(t, "GET /api/v1/operations/"+id, "").Must(t, 200).Body), &o); err != nil {
					return err
				}
				if !strings.Contains(strings.Join(o.Actions, " "), "drop") {
					return fmt.Errorf("it offers %v", o.Actions)
				}
				return nil
			})
			if a := paris.Do(t, c.service, method+" "+item, change, header...); a.Status < 500 {
				t.Errorf("another request for it got %d %s", a.Status, a.Body)
			}
			c.end(t, id)
			if state := operationAt(t, paris, id, "paris"); state != c.state {
				t.Errorf("it is %s, want %s", state, c.state)
			}
			paris.Application(t, c.service, "DELETE /-/faults", "").Must(t, 204)
			paris.Do(t, c.service, method+" "+item, change, header...).Must(t, 200)
		})
	}
}

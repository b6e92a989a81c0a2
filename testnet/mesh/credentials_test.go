package mesh

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestInvariantWhatIsSentAgainGainsNoRights has the application give no certain answer to the requests of callers, some of whom have shown no
// credentials. Whatever is sent again, by the same process or by the next one, goes out with what the caller has shown, and
// never with what the agent may do.
func TestInvariantWhatIsSentAgainGainsNoRights(t *testing.T) {
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		for name, shows := range map[string]http.Header{"none": {}, "a token": {"Authorization": {"Bearer ann"}}} {
			for _, dies := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, dies: %t", method, name, dies), func(t *testing.T) {
					m := open(t, Image, 2)
					paris := m.Sites[0]
					made := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
					converge(t, m, m.Sites...)
					before := len(paris.App.credentials())
					paris.App.Inject(Fails, Fails)
					if dies { // before the next process is here, nothing is sent again
						paris.App.Always(Away)
					}
					r := request(Image, method, string(made.Resource), `{"name":"m"}`)
					r.Credentials = shows
					var refusal *engine.Refusal
					if _, err := paris.Submit(t.Context(), r); !errors.As(err, &refusal) || refusal.Status != http.StatusGatewayTimeout {
						t.Fatalf("answered %v", err)
					}
					if dies {
						if err := paris.Restart(t.Context()); err != nil {
							t.Fatal(err)
						}
						paris.App.Always(0)
					}
					await(t, m, paris, refusal.Operation, engine.StateApplied)
					sent := paris.App.credentials()[before:]
					if len(sent) < 3 {
						t.Errorf("it was sent %d times", len(sent))
					}
					for i, showed := range sent {
						if showed == nil || !maps.EqualFunc(showed, shows, func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
							t.Errorf("try %d went out with %v (nil: the agent's own), want %v", i+1, showed, shows)
						}
					}
				})
			}
		}
	}
}

package acceptance

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/skerry/skerry/testnet/lab"
)

// TestInvariantReadYourWrites has one client write at one site and read, and write, at others: what has a Skerry-After of an answer sees what that
// answer told of, and comes after it.
func TestInvariantReadYourWrites(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	meet(t, e)
	paris, nantes, toulouse := e.Site("paris"), e.Site("nantes"), e.Site("toulouse")
	const wait = "wait=170" // it is to come, however slow the machine is
	after := ""
	with := func(header ...string) []string {
		return slices.Concat(header, []string{"Skerry-After", after, "Prefer", wait})
	}
	for i := range 40 {
		a := paris.Do(t, lab.Images, "POST /images", fmt.Sprintf(`{"name":"new %d"}`, i), "Scope", both).Must(t, 201)
		id := a.Text("id")
		if after = a.Header.Get("Skerry-After"); after == "" {
			t.Fatalf("the answer to a write tells nothing of what comes after it: %v", a.Header)
		}
		if got := nantes.Do(t, lab.Images, "GET /images/"+id, "", with()...).Must(t, 200); got.Header.Get("Skerry-Site") != "nantes" || got.Text("name") != fmt.Sprintf("new %d", i) {
			t.Fatalf("read %d through nantes: %s of %s", i, got.Body, got.Header.Get("Skerry-Site"))
		}
		after = paris.Do(t, lab.Images, "PATCH /images/"+id, fmt.Sprintf(`{"name":"first %d"}`, i), merge...).Must(t, 200).Header.Get("Skerry-After")
		if got := toulouse.Do(t, lab.Images, "GET /images/"+id, "", with("Scope", "{images: nantes}")...).Must(t, 200).Text("name"); got != fmt.Sprintf("first %d", i) {
			t.Fatalf("read %d through toulouse at nantes: %q", i, got)
		}
		a = nantes.Do(t, lab.Images, "PATCH /images/"+id, fmt.Sprintf(`{"name":"second %d"}`, i), with(merge...)...).Must(t, 200)
		after = a.Header.Get("Skerry-After")
		if got := paris.Do(t, lab.Images, "GET /images/"+id, "", with()...).Must(t, 200).Text("name"); got != fmt.Sprintf("second %d", i) {
			t.Fatalf("of two writes by one client through two sites, paris shows %q", got)
		}
		if lost, _ := paris.API(t, "GET /api/v1/resources/"+id, "").Must(t, 200).Fields()["superseded"].([]any); len(lost) > 0 {
			t.Fatalf("what one client wrote counts as concurrent to what it wrote next: %v", lost)
		}
	}

	nantes.Cut(t)
	noticed(t, e, nantes)
	a := paris.Do(t, lab.Images, "POST /images", `{"name":"behind"}`, "Scope", both).Must(t, 201)
	after = a.Header.Get("Skerry-After")
	behind := nantes.Do(t, lab.Images, "GET /images/"+a.Text("id"), "", "Skerry-After", after, "Prefer", "wait=1")
	problem(t, behind, http.StatusGatewayTimeout, "behind")
	if missing, _ := behind.Fields()["missing"].([]any); len(missing) != 1 || missing[0] != after || behind.Header.Get("Retry-After") == "" {
		t.Errorf("nantes says %s", behind.Body)
	}
	if got := paris.Do(t, lab.Images, "GET /images/"+a.Text("id"), "", with()...).Must(t, 200).Text("name"); got != "behind" {
		t.Errorf("paris shows %q", got)
	}
}

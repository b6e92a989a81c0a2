package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/lab"
)

// TestAdoptingSaysWhatItOverwrites: somebody has made a key at nantes behind its agent, and paris shares one of that name. Who is asked sees what taking that
// key would overwrite before it is done; it is told afterwards who has decided it, and the site then shows what is shared.
func TestAdoptingSaysWhatItOverwrites(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	nantes.Application(t, lab.Servers, "PUT /keys/door", `{"public":"made by hand"}`).Must(t, 201)
	paris.Do(t, lab.Servers, "PUT /keys/door", `{"public":"shared"}`, "Scope", "{servers: paris & nantes}").Must(t, 201)
	var list struct{ Items []struct{ ID string } }
	eventually(t, e, patience, "paris asks about the key that is in the way", func() bool {
		return json.Unmarshal([]byte(paris.API(t, "GET /api/v1/conflicts?about=exists", "").Must(t, 200).Body), &list) == nil && len(list.Items) == 1
	})
	id := list.Items[0].ID
	if page := paris.API(t, "GET /decisions?at="+id, "").Must(t, 200).Body; !strings.Contains(page, "It changes 1 field of the object") || !strings.Contains(page, "made by hand") {
		t.Errorf("the inbox does not say what is overwritten: %s", page)
	}
	paris.API(t, "POST /conflicts/"+id, "action=adopt", form(paris)...).Want(t, 200)
	eventually(t, e, patience, "nantes shows what is shared, and who has decided it is told", func() bool {
		history := paris.API(t, "GET /api/v1/resources/door", "").Must(t, 200).Body
		return strings.Contains(nantes.Application(t, lab.Servers, "GET /keys/door", "").Must(t, 200).Body, `"shared"`) && strings.Contains(history, `"action":"adopt"`)
	})
}

package mesh

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAKindThatIsLearntLater: what another site has of a kind that this one does not know is no breach of the rules, and comes once it does.
func TestAKindThatIsLearntLater(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	other, asked := *Image, make(chan engine.KindName, 100)
	other.Name, other.Collection, other.Item = "other", "/others", "/others/{id}"
	nantes.kinds = []*engine.Kind{&other}
	nantes.unknown = func(_ engine.ServiceName, k engine.KindName) bool {
		select {
		case asked <- k:
		default:
		}
		return true
	}
	if err := nantes.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes))
	if err := m.Reconcile(t.Context()); err == nil {
		t.Error("nantes takes in what it knows nothing of")
	}
	if k := <-asked; k != Image.Name {
		t.Errorf("nantes wants to know of %s", k)
	}
	for range 2 { // the second time there is nothing new
		if err := nantes.Learn(t.Context(), []*engine.Kind{Image}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	converge(t, m, paris, nantes)
	sameObjects(t, paris.App.Objects(), nantes.App.Objects())
	if len(nantes.App.Objects()) != 1 {
		t.Errorf("nantes has %v", nantes.App.Objects())
	}
}

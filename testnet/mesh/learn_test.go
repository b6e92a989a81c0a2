package mesh

import (
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
)

// TestAKindThatIsLearntLater: what another site has of a kind that this one does not know is no breach of the rules, and comes once it does.
func TestAKindThatIsLearntLater(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	other, asked := *Image, map[engine.KindName]bool{}
	other.Name, other.Collection, other.Item = "other", "/others", "/others/{id}"
	nantes.Kinds = []*engine.Kind{&other}
	nantes.Unknown = func(_ engine.ServiceName, k engine.KindName) { asked[k] = true }
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes))
	m.Reconcile()
	if n := nantes.Disk.Stored()["records"]; n != 0 {
		t.Error("nantes takes in what it knows nothing of")
	}
	if len(asked) != 1 || !asked[Image.Name] {
		t.Errorf("nantes wants to know of %v", asked)
	}
	for range 2 { // the second time there is nothing new
		if err := nantes.do(func(p *world.Process) error { return p.Learn(t.Context(), []*engine.Kind{Image}) }); err != nil {
			t.Fatal(err)
		}
	}
	m.Reconcile()
	converge(t, m, paris, nantes)
	sameObjects(t, paris.App.Objects(), nantes.App.Objects())
	if len(nantes.App.Objects()) != 1 {
		t.Errorf("nantes has %v", nantes.App.Objects())
	}
}

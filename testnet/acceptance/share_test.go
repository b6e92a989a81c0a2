package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// TestWhatOnlyOneSiteHasIsShared lists an image that clients of paris have made there alone, among those that only it has, and shares it from the
// page: nantes gets a copy, and the list has it no more. Another image is then made like it.
func TestWhatOnlyOneSiteHasIsShared(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	create(t, paris, "{images: sync(paris & nantes)}", `{"name":"shared"}`)
	own := paris.Do(t, lab.Images, "POST /images", `{"name":"own","description":"made here"}`).Must(t, 201).Text("id")
	only := func() (ids []string) {
		t.Helper()
		var list struct {
			Items []struct{ ID, Label string }
			Whole bool
		}
		if err := json.Unmarshal([]byte(paris.API(t, "GET /api/v1/objects?service=images&kind=image", "").Must(t, 200).Body), &list); err != nil || !list.Whole {
			t.Fatalf("what only paris has: %+v, %v", list, err)
		}
		for _, o := range list.Items {
			ids = append(ids, o.ID)
		}
		return ids
	}
	if ids := only(); len(ids) != 1 || ids[0] != own {
		t.Fatalf("only paris has %v, not %s alone", ids, own)
	}
	if page := paris.API(t, "GET /objects?kind=images.image", "").Must(t, 200); !strings.Contains(page.Body, own) || !strings.Contains(page.Body, `value="nantes"`) {
		t.Errorf("the page does not offer it: %s", page.Body)
	}
	paris.API(t, "POST /objects", "kind=images.image&pick="+own+"&at=nantes&shape=copies", form(paris)...).Want(t, 200)
	eventually(t, e, patience, "nantes has a copy of it", func() bool {
		return nantes.Do(t, lab.Images, "GET /images/"+own, "").Text("description") == "made here" && len(only()) == 0
	})
	like := paris.API(t, "POST /compose", "do=fill&begin=images.image.create&like=own", form(paris)...).Must(t, 200)
	if !strings.Contains(like.Body, "&#34;description&#34;: &#34;made here&#34;") || strings.Contains(like.Body, "&#34;id&#34;: &#34;"+own) {
		t.Errorf("an image like it is %s", like.Body)
	}
}

// TestNobodyKnowsDuringACut: while two sites cannot reach each other, neither says that what both share is converged. It is unknown since then, on
// the page, in the summary and in the list, and converged again once they have met.
func TestNobodyKnowsDuringACut(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	id := create(t, paris, "{images: sync(paris & nantes)}", `{"name":"debian"}`)
	told := func(s *env.Site) (state, since string) {
		t.Helper()
		var r struct{ State, Since string }
		if err := json.Unmarshal([]byte(s.API(t, "GET /api/v1/resources/"+id, "").Must(t, 200).Body), &r); err != nil {
			t.Fatal(err)
		}
		return r.State, r.Since
	}
	eventually(t, e, patience, "it is converged", func() bool { state, _ := told(paris); return state == "converged" })
	nantes.Cut(t)
	noticed(t, e, nantes)
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, patience, s.Name()+" says that nobody knows", func() bool { state, _ := told(s); return state == "unknown" })
		if _, since := told(s); since == "" {
			t.Errorf("%s does not say since when nobody knows", s.Name())
		}
		var sum struct {
			Converged bool
			Sentence  string
			Resources map[string]int
		}
		if err := json.Unmarshal([]byte(s.API(t, "GET /api/v1/summary", "").Must(t, 200).Body), &sum); err != nil {
			t.Fatal(err)
		}
		if sum.Converged || sum.Resources["unknown"] != 1 || sum.Resources["converged"] != 0 || strings.Contains(sum.Sentence, "are converged") {
			t.Errorf("the summary of %s is %+v", s.Name(), sum)
		}
		if page := s.API(t, "GET /resources?state=unknown", "").Must(t, 200); !strings.Contains(page.Body, "debian") {
			t.Errorf("the list of %s has it not among what is unknown", s.Name())
		}
		if metrics := s.API(t, "GET /metrics", "").Must(t, 200); !strings.Contains(metrics.Body, `state="unknown"} 1`) {
			t.Errorf("the metrics of %s do not count it", s.Name())
		}
	}
	nantes.Heal(t)
	meet(t, e)
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, patience, s.Name()+" knows again", func() bool { state, _ := told(s); return state == "converged" })
	}
}

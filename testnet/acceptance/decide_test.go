package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// undecided starts two sites whose agents ask people: deletions are held from the third on, and nothing tells what a create of an image has made.
func undecided(t *testing.T) (e *env.Env, paris, nantes *env.Site) {
	t.Helper()
	app := env.Lab(program)
	app.Catalog = bytes.Replace(app.Catalog, []byte("  images:\n    idempotency_key: honoured\n"), []byte("  images:\n"), 1)
	e = env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: app,
		Extra: "limits: {deletions: {late: 1ms, number: 2}}\n"})
	meet(t, e)
	return e, e.Site("paris"), e.Site("nantes")
}

// form is what a browser sends with a form.
func form(s *env.Site) []string {
	return []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://" + s.Config().API}
}

// TestHeldDeletionsAreRejected deletes five images while nantes is away. Two of the deletions run there, three are held. Somebody at paris brings one
// of either sort back, and somebody at nantes lets the rest run: those two live at both sites again, and no other.
func TestHeldDeletionsAreRejected(t *testing.T) {
	e, paris, nantes := undecided(t)
	const all = "{images: sync(paris & nantes)}"
	ids := make([]string, 5)
	for i := range ids {
		ids[i] = create(t, paris, all, fmt.Sprintf(`{"name":"image %d"}`, i))
	}
	nantes.Cut(t)
	noticed(t, e, nantes)
	for _, id := range ids {
		paris.Do(t, lab.Images, "DELETE /images/"+id, "", "Scope", both).Must(t, 204)
	}
	nantes.Heal(t)
	meet(t, e)
	type deletion struct {
		Operation, Label, Origin string
		Held                     bool
	}
	var preview struct {
		Held, Ran int
		Deletions []deletion
	}
	eventually(t, e, patience, "paris tells what has run at nantes and what is held", func() bool {
		a := paris.API(t, "GET /api/v1/sites/nantes/preview", "")
		return json.Unmarshal([]byte(a.Body), &preview) == nil && preview.Held == 3 && preview.Ran == 2 && len(preview.Deletions) == 5
	})
	of := func(held bool) (list []deletion) {
		for _, d := range preview.Deletions {
			if d.Origin != "paris" || !strings.HasPrefix(d.Label, "image ") {
				t.Errorf("a deletion is told as %+v", d)
			}
			if d.Held == held {
				list = append(list, d)
			}
		}
		return list
	}
	waiting, ran := of(true), of(false)
	page := nantes.API(t, "GET /sites/nantes", "").Must(t, 200).Body
	for _, want := range []string{"2 have run", "3 wait", waiting[0].Label, ran[0].Label, "Bring back"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of nantes is without %q", want)
		}
	}
	if strings.Contains(page, "skerry sites confirm") {
		t.Error("a command is named beside the button that does the same")
	}
	eventually(t, e, patience, "the inbox of paris tells what nantes holds", func() bool {
		return strings.Contains(paris.API(t, "GET /decisions", "").Must(t, 200).Body, "nantes holds 3 deletions of paris")
	})
	back := paris.API(t, "POST /api/v1/sites/nantes/reject", fmt.Sprintf(`{"operations":[%q,%q,"unknown"]}`, waiting[0].Operation, ran[0].Operation)).Must(t, 200)
	var came struct {
		Back    []struct{ Resource string }
		Refused []struct{ Operation string }
	}
	if err := json.Unmarshal([]byte(back.Body), &came); err != nil || len(came.Back) != 2 || len(came.Refused) != 1 || came.Refused[0].Operation != "unknown" {
		t.Fatalf("brought back: %s, %v", back.Body, err)
	}
	nantes.API(t, "POST /sites/nantes/confirm", "operation="+waiting[1].Operation+"&operation="+waiting[2].Operation, form(nantes)...).Want(t, 200)
	want := []string{waiting[0].Label, ran[0].Label}
	slices.Sort(want)
	eventually(t, e, patience, "what was brought back is at both sites, and nothing else", func() bool {
		return slices.Equal(held(t, paris), want) && slices.Equal(held(t, nantes), want) &&
			stateOf(t, paris, came.Back[0].Resource) == "converged" && stateOf(t, nantes, came.Back[1].Resource) == "converged"
	})
	if trail := nantes.API(t, "GET /api/v1/audit", "").Must(t, 200).Body; !strings.Contains(trail, `"choice":"reject 3: [`+waiting[0].Operation) {
		t.Errorf("the trail of nantes does not tell what was chosen: %s", trail)
	}
}

// TestWhatACreateHasMadeIsChosen has an image made of which no answer came. The agent names what it may be, and recommends that; a person says so,
// which is told at every site afterwards. What differs may then be left so, and that is taken back.
func TestWhatACreateHasMadeIsChosen(t *testing.T) {
	e, paris, nantes := undecided(t)
	paris.Application(t, lab.Images, "POST /images", `{"name":"another"}`).Must(t, 201)
	paris.Application(t, lab.Images, "POST /-/faults", `{"method":"POST","path":"/images","drop":true,"done":true}`).Must(t, 204)
	prompt(t, paris, "POST /images", `{"name":"debian"}`, "Scope", both).Must(t, 504)
	type conflict struct {
		ID, Evidence string
		Actions      []string
		Candidates   []struct {
			LocalID    string `json:"local_id"`
			Label      string
			Agrees, Of int
		}
	}
	var list struct{ Items []conflict }
	eventually(t, e, patience, "a person is asked", func() bool {
		return json.Unmarshal([]byte(paris.API(t, "GET /api/v1/conflicts?about=uncertain", "").Must(t, 200).Body), &list) == nil && len(list.Items) == 1
	})
	var c conflict
	a := paris.API(t, "GET /api/v1/conflicts/"+list.Items[0].ID, "").Must(t, 200)
	if err := json.Unmarshal([]byte(a.Body), &c); err != nil || len(c.Candidates) == 0 || c.Candidates[0].Label != "debian" || c.Actions[0] != "adopt" || c.Evidence == "" {
		t.Fatalf("asked is %s, %v", a.Body, err)
	}
	if inbox := paris.API(t, "GET /decisions?at="+c.ID, "").Must(t, 200).Body; !strings.Contains(inbox, "debian") || !strings.Contains(inbox, "It made this one") {
		t.Errorf("the inbox is without what it may have made: %s", inbox)
	}
	paris.API(t, "POST /conflicts/"+c.ID, "action=adopt&local_id="+c.Candidates[0].LocalID, form(paris)...).Want(t, 200)
	eventually(t, e, patience, "the image is at both sites, once", func() bool {
		return slices.Equal(held(t, nantes), []string{"debian"}) && slices.Equal(held(t, paris), []string{"another", "debian"}) && stateOf(t, paris, "debian") == "converged"
	})

	// Somebody changes it behind the agent of paris, and nantes says that this may stay so.
	paris.Application(t, lab.Images, "PATCH /images/"+c.Candidates[0].LocalID, `{"description":"by hand"}`, merge...).Must(t, 200)
	paris.API(t, "POST /api/v1/resources/debian/check", "").Must(t, 202)
	eventually(t, e, patience, "both ask about the drift", func() bool {
		for _, s := range e.Sites() {
			if json.Unmarshal([]byte(s.API(t, "GET /api/v1/conflicts?about=drift", "").Must(t, 200).Body), &list) != nil || len(list.Items) != 1 {
				return false
			}
		}
		return true
	})
	drift := list.Items[0].ID
	nantes.API(t, "POST /conflicts/"+drift, "action=dismiss", form(nantes)...).Want(t, 200)
	type decision struct{ Action, About, Site, Said, Undo string }
	decisions := func(s *env.Site) []decision {
		var r struct{ Decisions []decision }
		if err := json.Unmarshal([]byte(s.API(t, "GET /api/v1/resources/debian", "").Must(t, 200).Body), &r); err != nil {
			t.Fatal(err)
		}
		return r.Decisions
	}
	left := decision{"dismiss", "drift", "nantes", "nantes", "reopen"}
	for _, s := range e.Sites() {
		eventually(t, e, patience, s.Name()+" tells who has decided what", func() bool {
			list := decisions(s)
			return len(list) > 0 && list[0] == left
		})
	}
	if p := paris.API(t, "GET /resources/debian", "").Must(t, 200).Body; !strings.Contains(p, "Ask again") {
		t.Errorf("the history does not offer to take it back: %s", p)
	}
	paris.API(t, "POST /conflicts/"+drift, "action=reopen", form(paris)...).Want(t, 200)
	for _, s := range e.Sites() {
		eventually(t, e, patience, s.Name()+" asks again", func() bool {
			return strings.Contains(s.API(t, "GET /api/v1/conflicts?about=drift", "").Must(t, 200).Body, drift) && decisions(s)[0].Action == "reopen" && decisions(s)[1].Undo == ""
		})
	}
	if trail := paris.API(t, "GET /api/v1/audit", "").Must(t, 200).Body; !strings.Contains(trail, `"choice":"reopen"`) {
		t.Errorf("the trail of paris does not tell what was decided: %s", trail)
	}
}

// TestAGroupIsDecidedOnceItsDifferencesAreSeen changes two images of nantes behind its agent. One answer for both says first what would change
// at which site, and nothing happens until it is given.
func TestAGroupIsDecidedOnceItsDifferencesAreSeen(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	for _, name := range []string{"debian", "alpine"} {
		id := create(t, paris, "{images: sync(paris & nantes)}", `{"name":"`+name+`","description":"active"}`)
		local := nantes.API(t, "GET /api/v1/resources/"+id, "").Must(t, 200).Fields()["sites"].(map[string]any)["nantes"].(map[string]any)["local_id"].(string)
		nantes.Application(t, lab.Images, "PATCH /images/"+local, `{"description":"deprecated"}`, merge...).Must(t, 200)
		paris.API(t, "POST /api/v1/resources/"+id+"/check", "").Must(t, 202)
	}
	var list struct{ Items []struct{ ID, About string } }
	eventually(t, e, patience, "both differ", func() bool {
		return json.Unmarshal([]byte(paris.API(t, "GET /api/v1/conflicts", "").Must(t, 200).Body), &list) == nil && len(list.Items) == 2
	})
	both := "action=keep+nantes&id=" + list.Items[0].ID + "&id=" + list.Items[1].ID
	page := paris.API(t, "POST /decisions/plan", both, form(paris)...).Must(t, 200).Body
	for _, part := range []string{"Everyone goes back to &#34;deprecated&#34;: paris changes.", "<del>&#34;active&#34;</del>", "Do it for all 2"} {
		if !strings.Contains(page, part) {
			t.Errorf("what would change is without %s: %s", part, page)
		}
	}
	paris.API(t, "POST /decisions", both, form(paris)...).Want(t, 200)
	eventually(t, e, patience, "both sites show what nantes showed", func() bool {
		images := paris.Application(t, lab.Images, "GET /images", "").Must(t, 200).Body
		return strings.Count(images, "deprecated") == 2 && !strings.Contains(images, "active")
	})
}

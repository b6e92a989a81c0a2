package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// TestPlacementHistories adds, removes, changes and deletes at random sites of a mesh that is cut and heals. In the end all
// members show the same, every acknowledged change counts, and nothing is left to say to anybody else.
func TestPlacementHistories(t *testing.T) {
	fewer(t)
	rapid.Check(t, func(t *rapid.T) {
		m, err := Open(Image, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		ctx := context.Background()
		r := &run{Mesh: m, t: t, ctx: ctx, kind: Image, cut: map[*Site]bool{}}
		a, err := submit(ctx, r.Sites[0], Image, "POST", "", `{"made":0}`, r.Sites[:2]...)
		if err != nil {
			t.Fatal(err)
		}
		patched := map[string]bool{}
		for i := range rapid.IntRange(3, 14).Draw(t, "steps") {
			at := r.site("at")
			switch rapid.SampledFrom([]string{"place", "place", "patch", "patch", "cut", "exchange", "exchange", "restart"}).Draw(t, "step") {
			case "place":
				row, err := at.Disk.ResourceByID(ctx, Image.Service, Image.Name, a.Resource)
				if err != nil {
					continue
				}
				var q engine.PlaceRequest
				for _, s := range r.Sites {
					switch rapid.IntRange(0, 3).Draw(t, "what") {
					case 0:
						q.Add = append(q.Add, s.ID)
					case 1:
						q.Remove = append(q.Remove, s.ID)
					}
				}
				id, err := at.Place(ctx, row.Document, q)
				var refusal *engine.Refusal
				if err != nil && !errors.As(err, &refusal) && !errors.Is(err, engine.ErrNotFound) {
					t.Fatal(err)
				}
				t.Logf("%s places: %d added, %d removed: %s %v", at.Name, len(q.Add), len(q.Remove), id, err)
			case "patch":
				if _, err := at.Lookup(ctx, Image, string(a.Resource)); err != nil {
					continue
				}
				answer, err := submit(ctx, at, Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"f%d":%d}`, i, i))
				if err == nil && answer.Status < 300 && answer.Status != 202 {
					patched[fmt.Sprintf("f%d", i)] = true
				}
				t.Logf("%s patches f%d: %d %v", at.Name, i, answer.Status, err)
			case "cut":
				r.cut[at] = !r.cut[at]
				r.Cut(at, r.cut[at])
			case "exchange":
				r.exchange()
			case "restart":
				if err := at.Restart(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for s, cut := range r.cut {
			if cut {
				r.Cut(s, false)
			}
		}
		until(t, r.Mesh, func() string {
			wrong := agreed(ctx, r.Mesh, a.Resource, patched)
			if wrong == "" {
				return ""
			}
			for _, s := range r.Sites {
				row, err := s.Disk.ResourceByID(ctx, Image.Service, Image.Name, a.Resource)
				wrong += fmt.Sprintf("\n%s: %s %q: %+v, %v; shows %v", s.Name, row.State, row.Reason, row.Sites, err, s.App.Objects())
			}
			return wrong
		})
	})
}

// agreed says what is still to come, or wrong.
func agreed(ctx context.Context, m *Mesh, id engine.ResourceID, fields map[string]bool) string {
	rows := map[*Site]engine.ResourceRow{}
	var members []engine.SiteID
	for _, s := range m.Sites {
		row, err := s.Disk.ResourceByID(ctx, Image.Service, Image.Name, id)
		if err != nil || row.State == engine.StateLeft {
			continue
		}
		if row.State != engine.StateConverged || row.Local == "" {
			return fmt.Sprintf("%s says that it is %s: %s", s.Name, row.State, row.Reason)
		}
		rows[s] = row
		members = append(members, s.ID)
	}
	slices.Sort(members)
	var first string
	for s, row := range rows {
		var named []engine.SiteID
		for site := range row.Sites {
			named = append(named, site)
		}
		if slices.Sort(named); !slices.Equal(named, members) {
			return fmt.Sprintf("%s says that it lives at %v, and %v say so of themselves", s.Name, named, members)
		}
		object := s.App.objects[string(row.Local)]
		for f := range fields {
			if _, ok := object[f]; !ok {
				first = "lacks " + f
			}
		}
		shows := string(encode(without(object, "id")))
		if first == "" {
			first = shows
		}
		if shows != first {
			return fmt.Sprintf("%s shows %s, another %s", s.Name, shows, first)
		}
	}
	if len(rows) == 0 {
		return "it lives nowhere"
	}
	return ""
}

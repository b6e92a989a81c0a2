package kubernetes

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

const wantedAsTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

func TestRendered(t *testing.T) {
	for _, c := range []struct{ kind, body, want string }{
		{"deployments.apps", `{"metadata":{"name":"web","uid":"1"},"spec":{"replicas":5},"status":{"readyReplicas":4,"updatedReplicas":5}}`, "[web 4/5 5 0 <unknown>]"},
		{"deployments.apps", `{"metadata":{"name":"web"}}`, "[web 0/1 0 0 <unknown>]"},
		{"statefulsets.apps", `{"metadata":{"name":"db"},"spec":{"replicas":2},"status":{"readyReplicas":2}}`, "[db 2/2 <unknown>]"},
		{"replicasets.apps", `{"metadata":{"name":"r"},"spec":{"replicas":2},"status":{"replicas":1}}`, "[r 2 1 0 <unknown>]"},
		{"deployments.apps", `{"kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":5},"status":{"replicas":4}}`, "[web 5 4 <unknown>]"},
	} {
		media, b, ok := Dialect{}.Rendered(&engine.Kind{Name: engine.KindName(c.kind)}, wantedAsTable, []byte(c.body))
		var table struct {
			Kind              string
			ColumnDefinitions []struct{ Name string }
			Rows              []struct {
				Cells  []any
				Object struct{ Metadata struct{ Name string } }
			}
		}
		if err := json.Unmarshal(b, &table); !ok || err != nil || media != "application/json" || table.Kind != "Table" || len(table.Rows) != 1 {
			t.Fatalf("%s: %v %s %v", c.kind, ok, b, err)
		}
		row := table.Rows[0]
		if got := fmt.Sprint(row.Cells); got != c.want || len(row.Cells) != len(table.ColumnDefinitions) || row.Object.Metadata.Name != row.Cells[0] {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
	for _, c := range []struct{ kind, accept, body string }{
		{"deployments.apps", "application/json", `{}`}, {"widgets.example.org", wantedAsTable, `{}`}, {"deployments.apps", wantedAsTable, `no JSON`},
	} {
		if _, b, ok := (Dialect{}).Rendered(&engine.Kind{Name: engine.KindName(c.kind)}, c.accept, []byte(c.body)); ok {
			t.Errorf("%v became %s", c, b)
		}
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		-time.Second: "0s", 119 * time.Second: "119s", 2 * time.Minute: "2m", 3 * time.Hour: "3h", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		if got := since(now.Add(-ago).Format(time.RFC3339), now); got != want {
			t.Errorf("%s ago: %s, want %s", ago, got, want)
		}
	}
}

package storage

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skerry/skerry/engine"
)

// operationText is what people see of an operation in a list.
const operationText = `lower(o.id || ' ' || o.type || ' ' || o.method || ' ' || replace(o.path, '{id}', o.resource) || ' ' || o.service || '.' || o.kind ||
	' ' || o.resource || ' ' || o.scope || ' ' || o.user)`

// mention adds that operations are to show a word. There is no index for that: pages are read off the list in its order, and the
// cheap tests come first.
func (w *where) mention(word engine.SearchWord) error {
	text := strings.ToLower(word.Text)
	quoted, err := json.Marshal(text)
	if err != nil {
		return fmt.Errorf("look for %q: %w", word.Text, err)
	}
	// As it stands inside a JSON string: what is not even there is in no error.
	inside := string(quoted[1 : len(quoted)-1])
	condition := `(instr(` + operationText + `, ?) > 0
		OR EXISTS (SELECT 1 FROM resources r WHERE r.document = o.document AND o.document <> '' AND instr(r.search, ?) > 0)
		OR instr(lower(o.sites), ?) > 0 AND EXISTS (SELECT 1 FROM json_each(o.sites) s WHERE instr(lower(s.value ->> '$.error'), ?) > 0)`
	args := []any{text, text, inside, text}
	for _, site := range word.Sites {
		condition += ` OR o.origin = ? OR EXISTS (SELECT 1 FROM operation_sites s WHERE s.operation = o.n AND s.site = ?)`
		args = append(args, string(site), string(site))
	}
	w.add(condition+`)`, args...)
	return nil
}

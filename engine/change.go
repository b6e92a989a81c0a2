package engine

import "encoding/json"

// Change is what an operation sets: values and absences by path. No path of a Change is below another one.
type Change struct {
	Set   map[Pointer]json.RawMessage `json:"set,omitempty"` // scalars, arrays and empty objects, in compact form
	Unset []Pointer                   `json:"unset,omitempty"`
}

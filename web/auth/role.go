package auth

import "fmt"

// Role is what somebody may do. Each may do what those before it may.
type Role int

// Anyone has not said who they are; Viewers read; Operators change resources and settle operations; Admins also decide who may
// do what, and who belongs to the mesh.
const (
	Anyone Role = iota
	Viewer
	Operator
	Admin
)

var roleNames = [...]string{"anyone", "viewer", "operator", "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole reads the role of an account or a token.
func ParseRole(s string) (Role, error) {
	for r := Viewer; r <= Admin; r++ {
		if r.String() == s {
			return r, nil
		}
	}
	return Anyone, fmt.Errorf("role is %q: give viewer, operator or admin", s)
}

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Role) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRole(string(b))
	return err
}

package scope

// The types of problems, as the API's problem+json names them.
const (
	UnknownSite    = "unknown-site"
	UnknownService = "unknown-service"
	TypeError      = "scope-type"
)

// Problem says why a scope that parses makes no sense, or cannot be run. It is the caller's to mend.
type Problem struct {
	Type string `json:"type"`
	// Detail is Message as a picture: the scope, with carets under the place. Only Message for a tree that was not
	// parsed.
	Detail string `json:"detail"`
	// Position and End are byte offsets in the text that was parsed.
	Position int `json:"position"`
	End      int `json:"-"`
	// Message is one line.
	Message string `json:"-"`
}

func (p *Problem) Error() string { return p.Message }

func problem(kind, source string, from, to int, message string) Problem {
	p := Problem{Type: kind, Detail: message, Position: from, End: to, Message: message}
	if source != "" {
		p.Detail = picture(source, from, to, message)
	}
	return p
}

package engine

// Act is what somebody wants to do to resources of a site, as far as it matters to whether that site accepts it.
type Act string

const (
	ActRead   Act = "read"
	ActCreate Act = "create"
	ActChange Act = "change"
	ActAction Act = "action"
	ActDelete Act = "delete"
)

// Acts are all of them.
var Acts = []Act{ActRead, ActCreate, ActChange, ActAction, ActDelete}

// Act is what an operation of a type does.
func (t Type) Act() Act {
	switch t {
	case TypeCreate:
		return ActCreate
	case TypeAction:
		return ActAction
	case TypeDelete:
		return ActDelete
	}
	return ActChange
}

// Sharing is the collaboration of a request that another site runs, about something that is that site's alone. No document has it.
const Sharing Collaboration = "sharing"

// Collaborations are all of them.
var Collaborations = []Collaboration{Sharing, Replication, Cross, ExactlyOne}

// Wish is what one site wants another to let it do.
type Wish struct {
	From    SiteID
	Service ServiceName
	// Kind is empty for what the application says of itself.
	Kind  KindName
	Act   Act
	Scope Collaboration
}

// Acceptance is what a site says to a wish.
type Acceptance struct {
	Accepted bool
	// Rule is the one that counts, from 1; 0: none fits, or none is configured.
	Rule int
	// As says with whose rights the application is asked for an operation of another site, by the rule that counts.
	As As
	// Reason says it for people.
	Reason string
}

package engine

// RelationType says how long a resource needs what it refers to.
type RelationType string

const (
	// RelationRequirement is needed during an operation: an image to boot from.
	RelationRequirement RelationType = "requirement"
	// RelationReliance is needed as long as the resource lives: a network to be connected to.
	RelationReliance RelationType = "reliance"
	// RelationComposition is made and destroyed along by the application itself.
	RelationComposition RelationType = "composition"
)

// MaxRelations is how many references of one resource are kept: the first ones. A list that has so many may have more.
const MaxRelations = 1000

// Target is what a reference names: a resource of a kind. ID is a meta-identifier where the resource is replicated.
type Target struct {
	Service ServiceName `cbor:"1,keyasint" json:"service"`
	Kind    KindName    `cbor:"2,keyasint" json:"kind"`
	ID      ResourceID  `cbor:"3,keyasint" json:"id"`
}

// Relation is one reference of a resource to another. At is where its representation has it: an element's place when it
// stands in an array.
type Relation struct {
	Target
	At   Pointer      `json:"at"`
	Type RelationType `json:"type"`
	// Found are the sites that had the target when it was named, empty when that is not known.
	Found []SiteID `json:"found,omitempty"`
}

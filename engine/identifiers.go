package engine

// SiteID names a site inside documents: the libp2p peer id of its agent's key, in base58. It never
// changes; a site's name may.
type SiteID string

// SiteName is the label people give a site, unique in the mesh and bound to a SiteID by the mesh document.
type SiteName string

// ServiceName names one REST service of the application, as the catalog does.
type ServiceName string

// KindName names a type of resource that a service manages, as the catalog does.
type KindName string

// ResourceID is a meta-identifier: what clients call a replicated resource at every site.
type ResourceID string

// LocalID is what the application of one site calls its replica of a resource.
type LocalID string

// DocumentID is the lower-case hex form of the SHA-256 hash of a document's first change, so that the same
// identifier means the same first change.
type DocumentID string

// OperationID identifies an operation: a UUID of version 7 (RFC 9562, section 5.7) in its text form.
type OperationID string

package engine

import (
	"encoding/hex"
	"strings"
	"time"
)

// SiteID names a site for good: the libp2p peer id of its agent's key, in base58. A site's name may change.
type SiteID string

// SiteName is what people call a site, unique in the mesh.
type SiteName string

// ZoneName names a set of sites in scopes.
type ZoneName string

// ServiceName names one REST service of the application, as the catalog does.
type ServiceName string

// KindName names a type of resource that a service manages, as the catalog does.
type KindName string

// ResourceID is a meta-identifier: what clients call a replicated resource at every site.
type ResourceID string

// LocalID is what the application of one site calls its replica of a resource.
type LocalID string

// DocumentID names a resource's document through all its epochs: the lower-case hex form of the SHA-256 hash of the
// first change of its first epoch. The same identifier means the same first change.
type DocumentID string

// OperationID identifies an operation: a UUID of version 7 (RFC 9562, section 5.7) in its text form.
type OperationID string

// Made returns when an identifier was made: a UUID of version 7 begins with that. Zero: it does not tell.
func (id OperationID) Made() time.Time {
	b, err := hex.DecodeString(strings.ReplaceAll(string(id), "-", ""))
	if err != nil || len(b) != 16 || b[6]>>4 != 7 {
		return time.Time{}
	}
	ms := int64(0)
	for _, d := range b[:6] {
		ms = ms<<8 | int64(d)
	}
	return time.UnixMilli(ms)
}

// MaxSiteID is the most bytes that a SiteID may have.
const MaxSiteID = 128

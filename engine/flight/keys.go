package flight

import (
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
)

// Keys are what an answer is remembered under.
type Keys struct {
	Keys     [][32]byte `cbor:"1,keyasint,omitempty"`
	BodyHash [32]byte   `cbor:"2,keyasint"`
	// From is the site that has passed the request on; empty: it is of this site's own client.
	From engine.SiteID `cbor:"3,keyasint,omitempty"`
}

// Remember returns what remembers the reply to a request under its Idempotency-Keys.
func Remember(keys Keys, k *engine.Kind, reply engine.Reply, o engine.OperationID, resource engine.ResourceID, at time.Time) []engine.KeyedAnswer {
	var list []engine.KeyedAnswer
	for _, key := range keys.Keys {
		list = append(list, engine.KeyedAnswer{Key: key, BodyHash: keys.BodyHash, At: at, Answer: engine.Encode(&Remembered{
			Service: k.Service, Kind: k.Name, Status: reply.Status, Header: engine.TextHeader(reply.Header), Body: reply.Body, Operation: o, Resource: resource, From: keys.From})})
	}
	return list
}

// Remembered is what a KeyedAnswer holds: the application's reply, and whose it is.
type Remembered struct {
	Service   engine.ServiceName `cbor:"1,keyasint"`
	Kind      engine.KindName    `cbor:"2,keyasint"`
	Status    int                `cbor:"3,keyasint,omitempty"`
	Header    http.Header        `cbor:"4,keyasint,omitempty"`
	Body      []byte             `cbor:"5,keyasint,omitempty"`
	Operation engine.OperationID `cbor:"6,keyasint,omitempty"`
	Resource  engine.ResourceID  `cbor:"7,keyasint,omitempty"`
	// Sent is the site that may have got the request, while its status is zero.
	Sent engine.SiteID `cbor:"8,keyasint,omitempty"`
	// From is that of Keys.
	From engine.SiteID `cbor:"9,keyasint,omitempty"`
}

package glue

import (
	"net/http"

	"github.com/skerry/skerry/engine"
)

// Dialect is what the API of a service asks of whoever reads its requests, beyond what a catalog can say. Implementations are safe for
// concurrent use.
type Dialect interface {
	// Accept is the media type of answers that can be read here.
	Accept() string
	// Describes reports whether the answer to a read of this path says what the application is able to do: that is the same at every site.
	Describes(path string) bool
	// Rehearses reports whether a request that changes something only asks what would happen: nothing of it is to be kept equal.
	Rehearses(method, query string, header http.Header, body []byte) bool
	// Inquires reports whether a request, though it is no read, only asks to be told something: one site of its scope answers.
	Inquires(method, path string) bool
	// Refuses reports whether the application says, as a failure of its own (500), that a request is wrong: it has done nothing, and never will.
	Refuses(answer []byte) bool
	// Closed reports whether the application says, as a matter of rights (403), that nothing is made in a container any more, since that is being
	// deleted: nobody is let in, whatever they may do.
	Closed(answer []byte) bool
	// TakesAlong reports whether the application deletes all that lies in an item of a kind with it.
	TakesAlong(k *engine.Kind) bool
	// Leaves says, for who has sent it, what of a body that is to be kept equal goes nowhere; empty for nothing.
	Leaves(k *engine.Kind, body []byte) string
	// Own reports whether a JSON patch sets only what is the application's own at one site: no other is to get it.
	Own(k *engine.Kind, patch []byte) bool
	// Naming returns the body of a create in JSON, of which no more than the name need be right.
	Naming(header http.Header, body []byte) []byte
	// Former is the name of the object that one of this name comes after, in a series of which each holds a later state; empty for none.
	Former(name string) string
	// Forces reports whether a DELETE says that what is in its way does not count.
	Forces(header http.Header, body []byte) bool
	// Rehearsal returns the query under which the application tells what a request, that makes or replaces an object, would make of
	// it; ok is false where its body can be read, and names the object, as it is.
	Rehearsal(k *engine.Kind, query string, header http.Header, body []byte) (rehearsal string, ok bool)
	// Portable returns the body of a create without what is the application's own at one site.
	Portable(k *engine.Kind, body []byte) []byte
	// Whole returns the query of a list for all of it at once.
	Whole(query string) string
	// Accepted is what a client gets for a request of this type, and with this body, that is kept until it can be done; nil for nothing.
	Accepted(t engine.Type, body []byte) (mediaType string, answer []byte)
	// Rendered returns an object that several sites show together in the form that a client has asked for; ok is false where that is the
	// object itself.
	Rendered(k *engine.Kind, accept string, object []byte) (mediaType string, rendered []byte, ok bool)
	Refuser
}

// Refuser tells clients what an agent refuses as the application would.
type Refuser interface {
	// Refusal writes a refusal; typ is the last part of a problem's type.
	Refusal(status int, typ, detail string) (mediaType string, body []byte)
}

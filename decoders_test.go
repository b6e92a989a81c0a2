package skerry_test

import (
	"regexp"
	"strings"
	"testing"
)

// decodes finds where a file reads a form that something is made of: CBOR, JSON, YAML, base64, lengths before bytes, archives.
var decodes = regexp.MustCompile(`json\.(Unmarshal|NewDecoder)\(|engine\.Decode\(|\bDecode\(b, |[^.\w]decode\(b, |\.DecodeString\(|binary\.(Read)?Uvarint\(|io\.ReadFull\(|tar\.NewReader\(|strictyaml\.Parse\(|yaml\.(Unmarshal|Load)\(`)

// decoders are all files that decode, each with the fuzz targets that send it anything, or with the reason why there is none.
var decoders = map[string]string{
	"cmd/agent/config.go":             "FuzzLoad",
	"cmd/agent/control.go":            "this user's own processes",
	"cmd/agent/discover.go":           "this site's own disk",
	"cmd/skerry/debug.go":             "its user's own agent",
	"cmd/skerry/events.go":            "its user's own agent",
	"cmd/skerry/exec_tls.go":          "its user's own proxy",
	"cmd/skerry/open.go":              "its user's own agent",
	"cmd/skerry/placements.go":        "its user's own file",
	"crdt/about.go":                   "FuzzAbout",
	"crdt/leb128.go":                  "FuzzGate FuzzForgery",
	"engine/after.go":                 "FuzzAfter",
	"engine/beside/content.go":        "FuzzHear",
	"engine/blob.go":                  "FuzzBlob",
	"engine/front/errand.go":          "this site's own disk",
	"engine/identifiers.go":           "FuzzOperation",
	"engine/keys/keys.go":             "this site's own disk",
	"engine/kind.go":                  "FuzzNamed",
	"engine/merge/shown.go":           "FuzzEditOf",
	"engine/merge/wire.go":            "FuzzCheckpoint",
	"engine/mesh/record.go":           "FuzzTake",
	"engine/mesh/signing.go":          "FuzzSigning FuzzAuthorities",
	"engine/mesh/validate.go":         "FuzzTake",
	"engine/outbox/outbox.go":         "this site's own disk",
	"engine/plan/heard.go":            "FuzzHear",
	"engine/plan/tell.go":             "FuzzTell",
	"engine/replica/replica.go":       "this site's own disk",
	"engine/site/receive.go":          "FuzzStatus FuzzBatch",
	"engine/tree/elements.go":         "FuzzEditOf",
	"engine/tree/json.go":             "FuzzParse",
	"engine/tree/leaves.go":           "FuzzEditOf",
	"engine/tree/reader.go":           "FuzzParse FuzzPatch",
	"engine/view/fork.go":             "FuzzEntries",
	"engine/view/stored.go":           "FuzzFoundation",
	"engine/view/take.go":             "FuzzEntries",
	"glue/catalog.go":                 "FuzzParseCatalog",
	"glue/draft/document.go":          "FuzzFrom",
	"glue/kubernetes/asker.go":        "FuzzCluster",
	"glue/kubernetes/asks.go":         "FuzzBodies",
	"glue/kubernetes/dialect.go":      "FuzzBodies",
	"glue/kubernetes/discover.go":     "FuzzCluster",
	"glue/kubernetes/fields.go":       "FuzzBodies",
	"glue/kubernetes/gather.go":       "FuzzTakeEvent",
	"glue/kubernetes/kubeconfig.go":   "its user's own file",
	"glue/kubernetes/protobuf.go":     "FuzzProtobuf",
	"glue/openstack/keystone.go":      "FuzzKeystone",
	"glue/kubernetes/scope.go":        "FuzzWritten",
	"glue/kubernetes/table.go":        "FuzzBodies",
	"glue/openstack/clouds.go":        "its user's own file",
	"glue/referring.go":               "FuzzOwners",
	"glue/span.go":                    "FuzzTranslate",
	"glue/strictyaml/document.go":     "FuzzParse",
	"glue/visibility.go":              "FuzzOwners",
	"p2p/blob.go":                     "FuzzBlob",
	"p2p/frame.go":                    "FuzzFrame FuzzLetters FuzzMessage",
	"p2p/lane.go":                     "FuzzLane",
	"p2p/letter.go":                   "FuzzLetters",
	"p2p/message.go":                  "FuzzMessage",
	"p2p/ping.go":                     "FuzzPong",
	"p2p/token.go":                    "FuzzToken",
	"storage/backup/restore.go":       "FuzzRestore",
	"storage/columns.go":              "this site's own disk",
	"storage/conflicts.go":            "this site's own disk",
	"storage/cursor.go":               "FuzzCursor",
	"storage/mesh.go":                 "this site's own disk",
	"storage/wire.go":                 "FuzzStored",
	"web/api/back.go":                 "FuzzOperation",
	"web/api/conflicts.go":            "FuzzOperation",
	"web/api/elsewhere.go":            "FuzzRefusal",
	"web/api/issue.go":                "FuzzRefusal",
	"web/api/operations.go":           "FuzzOperation",
	"web/api/request.go":              "FuzzPeerCall",
	"web/audit/log.go":                "this site's own disk",
	"web/auth/keys.go":                "this site's own disk",
	"web/auth/password.go":            "this site's own disk",
	"web/chronicle/chronicle.go":      "this site's own disk",
	"web/chronicle/cut.go":            "this site's own disk",
	"web/client/client.go":            "its user's own agent",
	"web/hooks/desk.go":               "this site's own disk",
	"web/intercept/absent.go":         "FuzzRefusal",
	"web/intercept/dialect.go":        "what this agent itself has refused",
	"web/intercept/gather/follow.go":  "FuzzTakeEvent",
	"web/intercept/gather/gather.go":  "FuzzListing",
	"web/intercept/gather/pages.go":   "FuzzListing",
	"web/intercept/peer/peer.go":      "FuzzAnswer",
	"web/page/format.go":              "this site's own events",
	"web/shape/operation.go":          "FuzzOperation",
	"web/shape/redact.go":             "FuzzShowBody",
	"web/webtest/served/described.go": "tests alone",
	"web/webtest/peers.go":            "tests alone",
	"web/webtest/served/server.go":    "tests alone",
}

// TestEveryDecoderIsFuzzed finds a file that decodes and is not in the table, and a target of the table that there is none of.
func TestEveryDecoderIsFuzzed(t *testing.T) {
	tests, used := testsOf(t), map[string]bool{}
	for path, text := range files(t, "*.go") {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "testnet/") || !decodes.MatchString(text) {
			continue
		}
		used[path] = true
		if decoders[path] == "" {
			t.Errorf("%s decodes: write a fuzz target for it, and name that in decoders_test.go", path)
		}
	}
	for path, targets := range decoders {
		if !used[path] {
			t.Errorf("%s decodes nothing, and is in the table of decoders_test.go", path)
		}
		for word := range strings.FieldsSeq(targets) {
			if strings.HasPrefix(word, "Fuzz") && !tests[word] {
				t.Errorf("%s names the target %s, and there is none", path, word)
			}
		}
	}
}

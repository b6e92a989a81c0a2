package skerry_test

import (
	"regexp"
	"strings"
	"testing"
)

// decodes finds where a file reads a form that is not text: CBOR, base64, lengths before bytes, archives. What the standard library and the
// reader of YAML make of JSON and YAML is bounded where it is read, and looked into by the targets of the packages that do.
var decodes = regexp.MustCompile(`engine\.Decode\(|\bDecode\(b, |[^.\w]decode\(b, |\.DecodeString\(|binary\.(Read)?Uvarint\(|tar\.NewReader\(|strictyaml\.Parse\(|yaml\.(Unmarshal|Load)\(`)

// decoders are all files that decode, each with the fuzz targets that send it anything, or with the reason why there is none.
var decoders = map[string]string{
	"cmd/agent/config.go":             "FuzzLoad",
	"cmd/skerry/placements.go":        "its user's own file",
	"crdt/about.go":                   "FuzzAbout",
	"crdt/leb128.go":                  "FuzzGate FuzzForgery",
	"engine/after.go":                 "FuzzAfter",
	"engine/blob.go":                  "FuzzBlob",
	"engine/identifiers.go":           "FuzzOperation",
	"engine/keys/keys.go":             "this site's own disk",
	"engine/merge/wire.go":            "FuzzCheckpoint",
	"engine/mesh/record.go":           "FuzzTake",
	"engine/mesh/signing.go":          "FuzzSigning FuzzAuthorities",
	"engine/mesh/validate.go":         "FuzzTake",
	"engine/replica/replica.go":       "this site's own disk",
	"engine/site/receive.go":          "FuzzStatus FuzzBatch",
	"engine/view/fork.go":             "FuzzEntries",
	"engine/view/stored.go":           "FuzzFoundation",
	"engine/view/take.go":             "FuzzEntries",
	"glue/catalog.go":                 "FuzzParseCatalog",
	"glue/draft/document.go":          "FuzzFrom",
	"glue/kubernetes/kubeconfig.go":   "its user's own file",
	"glue/kubernetes/protobuf.go":     "FuzzProtobuf",
	"glue/kubernetes/scope.go":        "FuzzWritten",
	"glue/openstack/clouds.go":        "its user's own file",
	"glue/strictyaml/document.go":     "FuzzParse",
	"p2p/frame.go":                    "FuzzFrame FuzzLetters FuzzMessage",
	"p2p/letter.go":                   "FuzzLetters",
	"p2p/message.go":                  "FuzzMessage",
	"p2p/token.go":                    "FuzzToken",
	"storage/backup/restore.go":       "FuzzRestore",
	"storage/cursor.go":               "FuzzCursor",
	"storage/mesh.go":                 "this site's own disk",
	"storage/wire.go":                 "FuzzStored",
	"web/auth/password.go":            "this site's own disk",
	"web/intercept/gather/gather.go":  "FuzzListing",
	"web/intercept/gather/pages.go":   "FuzzListing",
	"web/intercept/peer/peer.go":      "FuzzAnswer",
	"web/webtest/served/described.go": "tests alone",
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

package static

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestVendoredFilesAreAsPublished(t *testing.T) {
	sums, err := files.ReadFile("vendor/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		b, err := files.ReadFile("vendor/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s is not the file that was vendored", name)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d files are listed", n)
	}
}

package static

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
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

func TestWhatHasAnAddressOfItsOwnIsNotAskedForAgain(t *testing.T) {
	e := echo.New()
	Mount(e)
	for address, want := range map[string]string{
		Address("app.css"):      "private, max-age=31536000, immutable",
		"/static/app.css":       "no-cache",
		"/static/app.css?v=old": "no-cache",
	} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		if got := w.Header().Get("Cache-Control"); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: %d, Cache-Control is %q, want %q", address, w.Code, got, want)
		}
	}
}

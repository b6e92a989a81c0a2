package lab

import (
	"net/http"
	"os"
	"strings"
)

// guarded asks for the bearer token in a file, which is read for each request, before it lets a request change something. An
// empty path guards nothing; neither do requests to the test's own addresses below /-/ need the token.
func guarded(next http.Handler, path string) http.Handler {
	if path == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := os.ReadFile(path)
		switch {
		case r.Method == http.MethodGet, strings.HasPrefix(r.URL.Path, "/-/"):
		case err != nil:
			refuse(http.StatusServiceUnavailable, err.Error()).write(w)
			return
		case r.Header.Get("Authorization") != "Bearer "+strings.TrimSpace(string(token)):
			refuse(http.StatusUnauthorized, "not the token").write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

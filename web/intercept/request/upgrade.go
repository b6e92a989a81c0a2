package request

import (
	"net/http"
	"strings"
)

// KeepHTTP takes the wish out of a head to go on in another version of HTTP, or in TLS, as a server may that does not want to (RFC 9110, 7.8).
// Through such a connection requests would reach the application that nobody here has read.
func KeepHTTP(h http.Header) {
	for _, value := range h["Upgrade"] {
		for protocol := range strings.SplitSeq(strings.ToLower(value), ",") {
			protocol = strings.TrimSpace(protocol)
			if name, _, _ := strings.Cut(protocol, "/"); name == "h2c" || name == "h2" || name == "http" || name == "tls" {
				delete(h, "Upgrade")
				delete(h, "Http2-Settings")
				return
			}
		}
	}
}

// Package static holds the files that the dashboard's pages load: the style sheet, the scripts and the icon. vendor/
// has htmx 4.0.1 and its extension for Server-Sent Events as their package gives them; a test compares them with
// vendor/SHA256SUMS.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/labstack/echo/v4"
)

//go:embed app.css app.js compose.js keys.js lists.js palette.js icon.svg vendor
var files embed.FS

// asset is one file as it is served.
type asset struct {
	name, contentType, tag string
	body                   []byte
}

// Mount adds the files below /static/ to e. A browser keeps them and asks each time whether they are still the
// ones, so that an agent's update shows at once.
func Mount(e *echo.Echo) error {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	for _, name := range []string{"app.css", "app.js", "compose.js", "keys.js", "lists.js", "palette.js", "icon.svg", "vendor/htmx.min.js", "vendor/hx-sse.min.js", "vendor/LICENSE.htmx"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read embedded file %s: %w", name, err)
		}
		sum := sha256.Sum256(b)
		a := asset{name, types[path.Ext(name)], `"` + hex.EncodeToString(sum[:12]) + `"`, b}
		if a.contentType == "" {
			a.contentType = "text/plain; charset=utf-8"
		}
		e.GET("/static/"+name, a.serve)
	}
	return nil
}

func (a asset) serve(c echo.Context) error {
	h := c.Response().Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.tag)
	http.ServeContent(c.Response(), c.Request(), a.name, time.Time{}, bytes.NewReader(a.body))
	return nil
}

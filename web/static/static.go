// Package static holds the files that the dashboard's pages load: the style sheet, the scripts and the icon. vendor/
// has htmx 4.0.1 and its extension for Server-Sent Events as their package gives them; a test compares them with
// vendor/SHA256SUMS.
package static

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

//go:embed app.css app.js compose.js keys.js lists.js palette.js start.js icon.svg vendor
var files embed.FS

// assets are the files by name, each as it is served.
var assets = sync.OnceValue(read)

// asset is one file as it is served.
type asset struct {
	name, contentType, tag string
	body                   []byte
}

func read() map[string]asset {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	all := map[string]asset{}
	add := func(name string, parts ...string) {
		var body []byte
		for _, part := range parts {
			b, err := files.ReadFile(part)
			if err != nil {
				panic(fmt.Sprintf("read embedded file %s: %v", part, err)) // it was there when this was built
			}
			body = append(append(body, b...), '\n')
		}
		sum := sha256.Sum256(body)
		all[name] = asset{name, cmp.Or(types[path.Ext(name)], "text/plain; charset=utf-8"), hex.EncodeToString(sum[:12]), body}
	}
	for _, name := range []string{"app.css", "app.js", "compose.js", "keys.js", "lists.js", "palette.js", "start.js", "icon.svg", "vendor/LICENSE.htmx"} {
		add(name, name)
	}
	// As one: htmx begins in a timer of its own, perhaps before another script is here.
	add("vendor/htmx.js", "vendor/htmx.min.js", "vendor/hx-sse.min.js")
	return all
}

// Address is where a page finds a file: an address of this content alone, which a browser need not ask about again.
func Address(name string) string { return "/static/" + name + "?v=" + assets()[name].tag }

// Mount adds the files below /static/ to e. What was asked for by Address is kept by browsers for good; of anything else they ask each time
// whether it is still the same.
func Mount(e *echo.Echo) {
	for name, a := range assets() {
		e.GET("/static/"+name, a.serve)
	}
}

func (a asset) serve(c echo.Context) error {
	h := c.Response().Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "no-cache")
	if c.QueryParam("v") == a.tag {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	h.Set("ETag", `"`+a.tag+`"`)
	http.ServeContent(c.Response(), c.Request(), a.name, time.Time{}, bytes.NewReader(a.body))
	return nil
}

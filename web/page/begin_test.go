package page_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/skerry/skerry/web/webtest"
)

func TestARequestBeginsFromTheCatalog(t *testing.T) {
	address := serve(t, webtest.Generous())
	_, body := ask(t, "GET", address+"/compose?"+url.Values{"begin": {"servers.server.create"}, "scope": {"servers: paris & nantes"}}.Encode(), nil)
	for _, want := range []string{`value="/servers"`, `<option value="POST" selected`, `<option value="servers" selected`, "id of images.image", `value="servers: paris &amp; nantes"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if _, body := ask(t, "GET", address+"/compose?begin=images.image.delete", nil); !strings.Contains(body, `<option value="DELETE" selected`) || !strings.Contains(body, `value="/images/{id}"`) {
		t.Errorf("delete: %s", mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/compose", nil); !strings.Contains(body, `data-word="toulouse"`) || !strings.Contains(body, `data-word="images:"`) {
		t.Errorf("nothing to complete with: %s", mainOf(body))
	}
}

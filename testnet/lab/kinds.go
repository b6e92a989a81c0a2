package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

func imagesSpec() spec {
	return spec{
		name:     Images,
		defaults: map[string]any{"size": 0, "status": "queued", "tags": []any{}, "description": ""},
		files:    true,
		openAPI:  openAPI,
		check: func(f map[string]any) string {
			if !whole(f["size"]) {
				return "size must be a whole number of bytes"
			}
			return named(f)
		},
	}
}

func networksSpec() spec {
	return spec{
		name:     Networks,
		defaults: map[string]any{"type": "shared", "description": ""},
		check: func(f map[string]any) string {
			if t, _ := f["type"].(string); !slices.Contains([]string{"flat", "shared"}, t) {
				return `type must be "flat" or "shared"`
			}
			return named(f)
		},
		inner: []spec{portsSpec()},
	}
}

// portsSpec are the ports of a network: what is plugged in.
func portsSpec() spec {
	return spec{name: "ports", defaults: map[string]any{"device": "", "description": ""}, check: named}
}

func serversSpec(c Config) spec {
	power := func(to string) action {
		return func(f, _ map[string]any) *problem {
			f["power"] = to
			return nil
		}
	}
	// The images service may be at the other end of a slow line; a request that it never answers must end.
	client := &http.Client{Timeout: 10 * time.Second, Transport: c.Transport}
	return spec{
		name:     Servers,
		defaults: map[string]any{"count": 1, "power": "off", "network": "", "iso": "", "description": ""},
		check: func(f map[string]any) string {
			switch {
			case !whole(f["count"]):
				return "count must be a whole number"
			case f["image"] == nil:
				return "image is missing"
			}
			return named(f)
		},
		before: func(r *http.Request, f map[string]any) *problem {
			id, _ := f["image"].(string)
			return fetchImage(client, r, c.Images, id)
		},
		actions: map[string]action{"start": power("on"), "stop": power("off"), "incr": incr},
		beside:  []spec{keysSpec()},
	}
}

// keysSpec are the public keys that servers let in, under names that clients choose, with what each is used for.
func keysSpec() spec {
	return spec{name: "keys", chosen: true, defaults: map[string]any{"public": ""}, check: func(map[string]any) string { return "" },
		inner: []spec{{name: "uses", defaults: map[string]any{"server": ""}, check: named}}}
}

// incr adds the body's member "by" to the count, 1 without it.
func incr(f, body map[string]any) *problem {
	by := json.Number("1")
	if v, ok := body["by"]; ok {
		if by, ok = v.(json.Number); !ok {
			return &problem{http.StatusUnprocessableEntity, "by must be a whole number"}
		}
	}
	n, err := by.Int64()
	if err != nil {
		return &problem{http.StatusUnprocessableEntity, "by must be a whole number"}
	}
	count, err := f["count"].(json.Number).Int64()
	if err != nil {
		return &problem{http.StatusConflict, "the count has left its range"}
	}
	f["count"] = json.Number(fmt.Sprint(count + n))
	return nil
}

// carried are the headers that an instrumented service passes on to the services it calls.
var carried = []string{"Traceparent", "Tracestate", "Baggage", "X-Request-Id"}

// fetchImage asks the images service for an image, on behalf of r.
func fetchImage(client *http.Client, r *http.Request, images, id string) *problem {
	if id == "" {
		return &problem{http.StatusUnprocessableEntity, "image must be the identifier of an image"}
	}
	q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, images+"/images/"+url.PathEscape(id), nil)
	if err != nil {
		return &problem{http.StatusInternalServerError, err.Error()}
	}
	for _, h := range carried {
		for _, v := range r.Header.Values(h) {
			q.Header.Add(h, v)
		}
	}
	resp, err := client.Do(q)
	if err != nil {
		return &problem{http.StatusBadGateway, "the images service does not answer: " + err.Error()}
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return &problem{http.StatusUnprocessableEntity, "there is no image " + id}
	}
	return &problem{http.StatusBadGateway, "the images service answers " + resp.Status}
}

func named(f map[string]any) string {
	if n, _ := f["name"].(string); n == "" {
		return "name is missing"
	}
	return ""
}

func whole(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	_, err := n.Int64()
	return err == nil
}

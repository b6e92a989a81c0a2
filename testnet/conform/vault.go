package conform

import (
	"context"
	_ "embed"
	"net/http"
	"path/filepath"

	agents "github.com/skerry/skerry/testnet/site"
)

//go:embed vault.yaml
var vaultCatalog []byte

// vaultToken is that of whoever may do everything.
const vaultToken = "token-of-an-administrator"

var vault = Application{
	Name: "vault", Title: "Vault 1.14.1", Catalog: vaultCatalog,
	About: "The core, the HTTP API, the storage in files and the engine for secrets of [Vault](https://www.vaultproject.io) 1.14.1, which is under the Mozilla Public License, unmodified, behind a main package of this project that leaves out the plugins for clouds and databases. Clients choose all identifiers; everything is shown in an envelope that they do not send.",
	Bodies: map[string]Body{
		"secrets/secret":    {Text: []byte(`{"title":"x","stars":1,"tags":["a","b","c"]}`)},
		"secrets/versioned": {Text: []byte(`{"data":{"title":"x","stars":1,"tags":["a","b","c"]}}`)},
		"secrets/policy":    {Text: []byte(`{"policy":"path \"kv/x\" { capabilities = [\"read\"] } # "}`)},
	},
	Header: http.Header{"Authorization": {"Bearer " + vaultToken}},
	Start: func(ctx context.Context, dir string) (map[string]string, func() error, error) {
		program, _, err := built(ctx, "vault", ".", "CGO_ENABLED=0")
		if err != nil {
			return nil, nil, err
		}
		at, stop, err := launch(ctx, dir, "/v1/sys/health", func(address string) ([]string, error) {
			return []string{program, address, filepath.Join(dir, "data"), vaultToken}, nil
		})
		client := &agents.Client{Base: at, HTTP: &http.Client{Transport: authorized{http.DefaultClient, "Bearer " + vaultToken}}}
		for path, version := range map[string]string{"kv": "1", "secret": "2"} {
			if err == nil {
				err = client.Call(ctx, http.MethodPost, "/v1/sys/mounts/"+path, map[string]any{"type": "kv", "options": map[string]string{"version": version}}, nil)
			}
		}
		return map[string]string{"secrets": at}, stop, err
	},
}

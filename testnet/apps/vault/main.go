// The program vault is a server of Vault's own packages, as they are: its core, its HTTP API, its storage in files and its engine for secrets (KV).
// Vault's own command has dozens of plugins for clouds and databases besides, and takes far longer to build. It initializes and
// unseals itself, and the root token is the one that it is told.
//
//	vault ADDRESS FOLDER TOKEN
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"

	"github.com/hashicorp/vault/helper/namespace"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/file"
	"github.com/hashicorp/vault/vault"
)

func main() {
	if err := run(namespace.RootContext(context.Background()), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, folder, token string) error {
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Warn})
	storage, err := file.NewFileBackend(map[string]string{"path": folder}, log)
	if err != nil {
		return fmt.Errorf("open the storage: %w", err)
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical: storage, StorageType: "file", DisableMlock: true, Logger: log, BuiltinRegistry: plugins{},
		LogicalBackends: map[string]logical.Factory{"kv": kv.Factory}, RedirectAddr: "http://" + address,
	})
	if err != nil {
		return fmt.Errorf("make the core: %w", err)
	}
	one := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	begun, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: one, RecoveryConfig: one})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if _, err := core.Unseal(begun.SecretShares[0]); err != nil {
		return fmt.Errorf("unseal: %w", err)
	}
	for end := time.Now().Add(time.Minute); core.Sealed() || time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if standby, err := core.Standby(); err == nil && !standby {
			break
		}
	}
	made, err := core.HandleRequest(ctx, &logical.Request{Operation: logical.UpdateOperation, Path: "auth/token/create", ClientToken: begun.RootToken,
		Data: map[string]any{"id": token, "policies": []string{"root"}, "no_parent": true}})
	if err == nil && made.IsError() {
		err = made.Error()
	}
	if err != nil {
		return fmt.Errorf("make the token: %w", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return http.Serve(l, vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core}))
}

// plugins are those that are built in: one.
type plugins struct{}

func (plugins) Contains(name string, of consts.PluginType) bool {
	return name == "kv" && of == consts.PluginTypeSecrets
}

func (p plugins) Get(name string, of consts.PluginType) (func() (any, error), bool) {
	return func() (any, error) { return logical.Factory(kv.Factory), nil }, p.Contains(name, of)
}

func (plugins) Keys(of consts.PluginType) []string {
	if of == consts.PluginTypeSecrets {
		return []string{"kv"}
	}
	return nil
}

func (p plugins) DeprecationStatus(name string, of consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, p.Contains(name, of)
}

func (plugins) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }

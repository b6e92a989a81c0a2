package webtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/chronicle"
	"github.com/skerry/skerry/web/hooks"
)

// Records keeps what the agent's database would, in memory. The zero value is empty. It is safe for concurrent use.
type Records struct {
	// Fail is the error of whatever is written; it is set while nobody writes.
	Fail error

	mu   sync.Mutex
	kept map[string]map[string][]byte // by shelf and key
}

// PutRecord keeps a value under a key.
func (r *Records) PutRecord(_ context.Context, shelf, key string, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Fail != nil {
		return r.Fail
	}
	if r.kept == nil {
		r.kept = map[string]map[string][]byte{}
	}
	if r.kept[shelf] == nil {
		r.kept[shelf] = map[string][]byte{}
	}
	r.kept[shelf][key] = slices.Clone(value)
	return nil
}

// DropRecord takes a key away.
func (r *Records) DropRecord(ctx context.Context, shelf, key string) error {
	return r.DropRecords(ctx, shelf, key, key+"\x00")
}

// DropRecords takes the keys from one up to, and without, another away.
func (r *Records) DropRecords(_ context.Context, shelf, from, before string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.kept[shelf], func(key string, _ []byte) bool { return key >= from && key < before })
	return nil
}

// Record returns engine.ErrNotFound when there is nothing under the key.
func (r *Records) Record(_ context.Context, shelf, key string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.kept[shelf][key]
	if !ok {
		return nil, fmt.Errorf("record %s: %w", key, engine.ErrNotFound)
	}
	return slices.Clone(v), nil
}

// Records tells of the keys from one up to, and without, another.
func (r *Records) Records(_ context.Context, shelf, from, before string, limit int, lastFirst bool, take func(key string, value []byte) error) error {
	r.mu.Lock()
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(r.kept[shelf])), func(key string) bool { return key < from || key >= before })
	if lastFirst {
		slices.Reverse(keys)
	}
	values := map[string][]byte{}
	for _, k := range keys {
		values[k] = slices.Clone(r.kept[shelf][k])
	}
	r.mu.Unlock()
	for _, k := range keys[:min(limit, len(keys))] {
		if err := take(k, values[k]); err != nil {
			return err
		}
	}
	return nil
}

// Secret stands for what is derived from the key of a data directory.
var Secret = []byte("the key of a test")

// guard lets everyone do everything when there is no file of accounts.
func (s *Site) guard(accounts string) *auth.Guard {
	g, err := auth.New(auth.Config{Accounts: accounts, Store: &s.Kept, Secret: Secret, Now: s.now})
	if err != nil {
		panic(err)
	}
	return g
}

// ConfigWithAccounts is Config of a site where people log in: viewer, operator and admin, each of whom has the password
// "correct horse NAME", with the file of accounts in dir.
func (s *Site) ConfigWithAccounts(dir, listen string) (web.Config, error) {
	var accounts auth.Accounts
	for role := auth.Viewer; role <= auth.Admin; role++ {
		hash, err := auth.Hash(Password(role.String()))
		if err == nil {
			accounts, err = accounts.Set(auth.Account{Name: role.String(), Role: role, Hash: hash})
		}
		if err != nil {
			return web.Config{}, err
		}
	}
	s.Accounts = filepath.Join(dir, "accounts")
	if err := accounts.Write(s.Accounts); err != nil {
		return web.Config{}, err
	}
	c := s.Config(listen)
	c.Auth = s.guard(s.Accounts)
	return c, nil
}

// Password is that of an account of ConfigWithAccounts.
func Password(name string) string { return "correct horse " + name }

// desk keeps hooks and makes deliveries for real.
func (s *Site) desk() *hooks.Desk {
	d, err := hooks.New(hooks.Config{Store: &s.Kept, Vault: Vault{}, Now: s.now, Log: slog.New(slog.DiscardHandler), HTTP: hooks.NewClient()})
	if err != nil {
		panic(err)
	}
	return d
}

// chronicle remembers in memory.
func (s *Site) chronicle() *chronicle.Chronicle {
	return chronicle.New(chronicle.Config{Store: &s.Kept, Now: s.now, Log: slog.New(slog.DiscardHandler)})
}

// Vault does not encrypt, and refuses what was sealed under another name.
type Vault struct{}

// Seal puts the name before the data.
func (Vault) Seal(name engine.OperationID, data []byte) []byte {
	return append([]byte(name+"\x00"), data...)
}

// Unseal takes the name off again.
func (Vault) Unseal(name engine.OperationID, sealed []byte) ([]byte, error) {
	data, ok := bytes.CutPrefix(sealed, []byte(name+"\x00"))
	if !ok {
		return nil, engine.ErrRefused
	}
	return data, nil
}

package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Account is a person who may log in.
type Account struct {
	Name string
	Role Role
	// Hash is the argon2id hash of the password in the PHC string format.
	Hash string
}

// Accounts are those of a file, in its order. Each line of the file is a name, a role and a hash, with blanks between; empty
// lines and those that begin with # say nothing.
type Accounts []Account

var accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// ReadAccounts reads the file at path. The error names the line that is wrong, and never what a hash says.
func ReadAccounts(path string) (Accounts, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the accounts: %w", err)
	}
	var all Accounts
	for i, line := range strings.Split(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		wrong := func(err error) (Accounts, error) { return nil, fmt.Errorf("%s:%d: %w", path, i+1, err) }
		if len(fields) != 3 {
			return wrong(errors.New("expected a name, a role and a hash"))
		}
		a := Account{Name: fields[0], Hash: fields[2]}
		if a.Role, err = ParseRole(fields[1]); err != nil {
			return wrong(err)
		}
		if _, err := parseHash(a.Hash); err != nil {
			return wrong(err)
		}
		if !accountName.MatchString(a.Name) {
			return wrong(fmt.Errorf("%q is no name of an account", a.Name))
		}
		if _, twice := all.Find(a.Name); twice {
			return wrong(fmt.Errorf("there is an account %s already", a.Name))
		}
		all = append(all, a)
	}
	return all, nil
}

// Find returns the account of that name.
func (all Accounts) Find(name string) (Account, bool) {
	i := slices.IndexFunc(all, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return Account{}, false
	}
	return all[i], true
}

// Set returns the accounts with a, in the place of one of that name.
func (all Accounts) Set(a Account) (Accounts, error) {
	if !accountName.MatchString(a.Name) {
		return nil, fmt.Errorf("%q is no name of an account: at most 64 letters, digits, \".\", \"_\", \"@\" and \"-\", a letter or digit first", a.Name)
	}
	return append(slices.Clone(all.Without(a.Name)), a), nil
}

// Without returns the accounts without the one of that name.
func (all Accounts) Without(name string) Accounts {
	return slices.DeleteFunc(slices.Clone(all), func(a Account) bool { return a.Name == name })
}

// Write puts the accounts into the file at path, all or nothing, readable by its owner only. Comments of the file are lost.
func (all Accounts) Write(path string) error {
	var b strings.Builder
	b.WriteString("# Accounts of a Skerry site, written by \"skerry accounts\": name, role, argon2id hash.\n")
	for _, a := range all {
		fmt.Fprintf(&b, "%s %s %s\n", a.Name, a.Role, a.Hash)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the accounts: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(b.String())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = keepMode(path, f.Name())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the accounts: %w", err)
	}
	return nil
}

// keepMode gives a file the mode of the one that it will replace: an agent of another user may have to read it.
func keepMode(old, fresh string) error {
	info, err := os.Stat(old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(fresh, info.Mode().Perm())
}

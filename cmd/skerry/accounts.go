package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/skerry/skerry/web/auth"
)

type accountsCommand struct {
	File string `type:"path" default:"accounts" placeholder:"FILE" help:"The file that api.accounts of the site's configuration names (default ${default})."`

	List   accountsList   `cmd:"" default:"withargs" help:"List the accounts (the default)."`
	Add    accountsAdd    `cmd:"" help:"Add an account, or give one another role or password."`
	Remove accountsRemove `cmd:"" help:"Take an account away."`
}

func (accountsCommand) Help() string { return accountsList{}.Help() }

// read returns the accounts of the file; none when it is not there yet.
func (c *accountsCommand) read() (auth.Accounts, error) {
	all, err := auth.ReadAccounts(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

type accountsList struct{}

func (accountsList) Help() string {
	return `Works on the file of those who may log in to a site, on the machine that it is on; it needs no agent. A running agent takes
over what changes at once: who is removed, or gets another password, is logged out.

Examples:

    skerry accounts --file paris-accounts
    skerry accounts --file paris-accounts add alice --role admin
    skerry accounts --file paris-accounts remove bob`
}

func (accountsList) Run(p *program, c *accountsCommand) error {
	all, err := auth.ReadAccounts(c.File)
	if err != nil {
		return err
	}
	type shown struct {
		Name string `json:"name"`
		Role string `json:"role"`
	}
	list, rows := []shown{}, [][]string{}
	for _, a := range all {
		list = append(list, shown{a.Name, a.Role.String()})
		rows = append(rows, []string{a.Name, a.Role.String()})
	}
	if p.json {
		return p.printJSON(list)
	}
	(&table{out: p.out, width: p.width, columns: []column{{"ACCOUNT", 0, 0}, {"ROLE", 0, 0}}}).print(rows)
	return nil
}

type accountsAdd struct {
	Name string `arg:"" help:"Name of the account."`
	Role string `enum:"viewer,operator,admin" default:"viewer" placeholder:"ROLE" help:"viewer reads, operator changes resources and settles operations, admin also decides who may do what (default ${default})."`
}

func (accountsAdd) Help() string {
	return `Asks for the password, or takes the first line of its input. The file keeps an argon2id hash.

Examples:

    skerry accounts --file paris-accounts add alice --role admin
    pass show skerry/bob | skerry accounts --file paris-accounts add bob`
}

func (c *accountsAdd) Run(p *program, all *accountsCommand) error {
	role, err := auth.ParseRole(c.Role)
	if err != nil {
		return usageError{err}
	}
	accounts, err := all.read()
	if err != nil {
		return err
	}
	if _, err := accounts.Set(auth.Account{Name: c.Name}); err != nil {
		return usageError{err}
	}
	password, err := p.askNewPassword()
	if err != nil {
		return err
	}
	hash, err := auth.Hash(password)
	if err != nil {
		return err
	}
	if accounts, err = accounts.Set(auth.Account{Name: c.Name, Role: role, Hash: hash}); err != nil {
		return err
	}
	return accounts.Write(all.File)
}

type accountsRemove struct {
	Name string `arg:"" help:"Name of the account."`
}

func (accountsRemove) Help() string {
	return `The account's sessions and tokens end at once.

Examples:

    skerry accounts --file paris-accounts remove bob`
}

func (c *accountsRemove) Run(all *accountsCommand) error {
	accounts, err := all.read()
	if err != nil {
		return err
	}
	if _, ok := accounts.Find(c.Name); !ok {
		return fmt.Errorf("%s has no account %s", all.File, c.Name)
	}
	return accounts.Without(c.Name).Write(all.File)
}

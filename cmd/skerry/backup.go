package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	siteagent "github.com/skerry/skerry/cmd/agent"
	"github.com/skerry/skerry/storage/backup"
)

type backupCommand struct {
	Config     string `required:"" placeholder:"FILE" help:"The site's configuration."`
	WithoutKey bool   `help:"Leave the key out that the content is encrypted under: keep it somewhere else."`
	File       string `arg:"" type:"path" help:"The backup, which is not there yet. It takes as much room again while it is made."`
}

func (backupCommand) Help() string {
	return `Copies the data directory of this machine's site into one file: what the database has at one moment, the bodies of requests, and the
site's keys. The agent goes on working meanwhile; it may also be stopped. Nothing is asked of the agent: whoever may read the data directory may do it.

What is encrypted in the data directory is encrypted in the backup, and the site's key as well. The key to that is in the backup too if it lies in
the data directory. It is not with --without-key, or if the configuration says where it is (encryption_key).

The configuration and the catalog are no part of it, nor is the application's own data.

Examples:

    skerry backup --config /etc/skerry/agent.yaml /var/backups/paris.skerry
    skerry backup --config /etc/skerry/agent.yaml --without-key "/var/backups/paris-$(date +%F).skerry"`
}

func (c *backupCommand) Run(ctx context.Context, p *program) (err error) {
	cfg, err := siteagent.Load(c.Config)
	if err != nil {
		return listProblems(err)
	}
	if _, err := os.Lstat(c.File); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is something at %s already", c.File)
	}
	folder, err := os.MkdirTemp(filepath.Dir(c.File), ".skerry-backup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	f, err := os.OpenFile(filepath.Join(folder, "backup"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	source := backup.Source{Dir: cfg.DataDir, Key: cfg.EncryptionKey, Alone: c.WithoutKey, About: backup.About{Site: string(cfg.Site), By: ownVersion()}, Now: p.now}
	about, err := source.Write(ctx, f, folder)
	if err != nil {
		return fmt.Errorf("back up %s: %w", cfg.DataDir, err)
	}
	if err := errors.Join(f.Sync(), f.Close(), os.Link(f.Name(), c.File), durable(filepath.Dir(c.File))); err != nil { // a link replaces nothing
		return err
	}
	if p.json {
		return p.printJSON(about)
	}
	fmt.Fprintf(p.out, "%s: backup of %s as it was at %s\n", c.File, clean(about.Site), about.At.Local().Format("2006-01-02 15:04:05"))
	if about.Key {
		fmt.Fprintln(p.errs, "skerry: the key is in it: whoever has the file has all that is in it, and can be this site")
	} else {
		fmt.Fprintln(p.errs, "skerry: the key is not in it: nobody puts it back without that")
	}
	return nil
}

// durable makes the names in a directory durable.
func durable(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type restoreBackupCommand struct {
	Config string `required:"" placeholder:"FILE" help:"The site's configuration."`
	Check  bool   `help:"Read the backup to its end, tell whether it is whole, and put nothing back."`
	File   string `arg:"" type:"existingfile" help:"The backup."`
}

func (restoreBackupCommand) Help() string {
	return `Puts a backup back into the data directory that the configuration names, which has to be empty or not there. Start the agent then: it
finds out from the other sites what happened since, and brings its application there.

A backup that is cut off, was changed, is of another site or of another key is refused, and leaves nothing behind.

Examples:

    skerry restore --config /etc/skerry/agent.yaml --check /var/backups/paris.skerry
    skerry restore --config /etc/skerry/agent.yaml /var/backups/paris.skerry`
}

func (c *restoreBackupCommand) Run(p *program) error {
	cfg, err := siteagent.Load(c.Config)
	if err != nil {
		return listProblems(err)
	}
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	to := backup.Target{Dir: cfg.DataDir, Key: cfg.EncryptionKey, Site: string(cfg.Site)}
	var about backup.About
	if c.Check {
		about, err = to.Check(f)
	} else {
		about, err = to.Restore(f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if p.json {
		return p.printJSON(about)
	}
	what := "is whole"
	if !c.Check {
		what = "is put back into " + cfg.DataDir
	}
	fmt.Fprintf(p.out, "%s: the backup of %s as it was at %s %s\n", c.File, clean(about.Site), about.At.Local().Format("2006-01-02 15:04:05"), what)
	if !c.Check {
		fmt.Fprintln(p.errs, "skerry: start the agent, and see skerry conflicts once it has met the others")
	}
	return nil
}

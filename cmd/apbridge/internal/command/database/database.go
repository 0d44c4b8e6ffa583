// Package database is the commands that take a database out, put it back and move it.
package database

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/outfile"
	"github.com/apbridge/apbridge/config"
	"github.com/spf13/pflag"
)

// program is the process around these commands.
type program struct{ *console.Process }

// databaseFlags lead to a database: of the configuration nothing else needs to be right.
type databaseFlags struct{ console.ConfigFlags }

func (f *databaseFlags) add(set *pflag.FlagSet) {
	set.VarP((*console.Filled)(&f.File), "config", "c", "configuration file in YAML that names the database (default $APBRIDGE_CONFIG)")
	set.Var((*console.Filled)(&f.Database), "database", "SQLite file, or the URL of a PostgreSQL database (default $APBRIDGE_DATABASE, or apbridge.db)")
}

func (f *databaseFlags) load(environ []string) (*config.Config, error) {
	o, err := f.Options(environ)
	if err != nil {
		return nil, err
	}
	return config.LoadDatabase(o)
}

func isServer(database string) bool { return strings.Contains(database, "://") }

// forServer is the command line of one of PostgreSQL's programs with the database at the end: without its
// password, and without what only a bridge understands.
func forServer(command, database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return command + " --dbname=URL"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	asked, kept := u.Query(), url.Values{}
	if mode := asked.Get("sslmode"); mode != "" {
		kept.Set("sslmode", mode)
	}
	u.RawQuery = kept.Encode()
	if schema := asked.Get("search_path"); schema != "" {
		command += " --schema=" + schema
	}
	return command + " --dbname='" + u.String() + "'"
}

// lockBeside is the lock of the database that a file is, or that keeps the file's name for what
// stands beside it; "": there is none.
func lockBeside(file string) string {
	for _, of := range []string{"", "-wal", "-shm", "-journal", "-lock", "-redo", ".new"} {
		if database, ok := strings.CutSuffix(file, of); ok {
			if _, err := os.Stat(database + "-lock"); err == nil {
				return database + "-lock"
			}
		}
	}
	return ""
}

// draft begins a file that a database is written to. It is not to be a database itself, or a part of
// one: even --force does not write over those.
func draft(file string, over bool) (*outfile.Draft, error) {
	if lock := lockBeside(file); lock != "" {
		return nil, console.Misuse(fmt.Sprintf("%s is the database of a bridge or stands beside it (%s is there), or its name is kept for one; name another file", file, filepath.Base(lock)))
	}
	d, err := outfile.NewDraft(file, over)
	if errors.Is(err, outfile.ErrThere) {
		return nil, console.Misuse(file + " is there already; name another file, or write over it with --force")
	}
	return d, err
}

// shown rewrites one line on a terminal, some times a second, and writes nothing elsewhere. The returned
// function ends the line.
func (p *program) shown(text func() string) (look, end func()) {
	raw, ok := console.Rewritable(p.Err, p.Environ)
	if !ok {
		return func() {}, func() {}
	}
	last := time.Time{}
	const clear = "\r\x1b[K"
	return func() {
		if now := time.Now(); now.Sub(last) > 200*time.Millisecond {
			last = now
			fmt.Fprint(raw, clear+text())
		}
	}, func() { fmt.Fprint(raw, clear) }
}

// copying shows how far a copy of pages has come.
func (p *program) copying() (said func(done, all int), end func()) {
	done, all := 0, 0
	look, end := p.shown(func() string {
		if done == all {
			return "looking through the copy …"
		}
		return fmt.Sprintf("copying … %d %%", 100*done/max(all, 1))
	})
	return func(d, a int) { done, all = d, a; look() }, end
}

// counting shows how many rows are done.
func (p *program) counting(verb string) (said func(int64), end func()) {
	rows := int64(0)
	look, end := p.shown(func() string { return fmt.Sprintf("%s … %d rows", verb, rows) })
	return func(n int64) { rows = n; look() }, end
}

// namedDatabase is a database as messages name it.
func namedDatabase(database string) string {
	if !isServer(database) {
		return database
	}
	if u, err := url.Parse(database); err == nil {
		return cmp.Or(u.Host, "PostgreSQL") + u.Path
	}
	return "PostgreSQL"
}

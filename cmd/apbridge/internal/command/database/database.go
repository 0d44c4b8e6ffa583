// Package database implements the commands that back up, restore and move a database. Package main adds them. They use
// the database directly (package archive), without a bridge.
package database

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/spf13/pflag"
)

// program runs the commands in their process.
type program struct{ *console.Process }

// databaseFlags selects a database. Other parts of the configuration may be invalid.
type databaseFlags struct{ console.ConfigFlags }

func (f *databaseFlags) add(set *pflag.FlagSet) {
	set.VarP((*console.Filled)(&f.File), "config", "c", "YAML configuration `FILE` that names the database (default $APBRIDGE_CONFIG)")
	set.Var((*console.Filled)(&f.Database), "database", "`DATABASE`, a SQLite file or PostgreSQL URL (default $APBRIDGE_DATABASE, else apbridge.db)")
}

func (f *databaseFlags) load(environ []string) (*config.Config, error) {
	o, err := f.Options(environ)
	if err != nil {
		return nil, err
	}
	return config.LoadDatabase(o)
}

func isServer(database string) bool { return strings.Contains(database, "://") }

// forServer returns the command line of a PostgreSQL program with the database at the end. It leaves out the password
// and the bridge's own parameters.
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

// copying shows the progress of copying pages.
func (p *program) copying() (said func(done, all int), end func()) {
	done, all := 0, 0
	look, end := p.Shown(func() string {
		if done == all {
			return "checking the copy …"
		}
		return fmt.Sprintf("copying … %d %%", 100*done/max(all, 1))
	})
	return func(d, a int) { done, all = d, a; look() }, end
}

// counting shows the number of finished rows.
func (p *program) counting(verb string) (said func(int64), end func()) {
	rows := int64(0)
	look, end := p.Shown(func() string { return fmt.Sprintf("%s … %d rows", verb, rows) })
	return func(n int64) { rows = n; look() }, end
}

// namedDatabase returns a database's name for messages.
func namedDatabase(database string) string {
	if !isServer(database) {
		return database
	}
	if u, err := url.Parse(database); err == nil {
		return cmp.Or(u.Host, "PostgreSQL") + u.Path
	}
	return "PostgreSQL"
}

package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrationFiles embed.FS

// Migrations returns all migrations of a database's tables. Tests use it to create tables of older versions.
func Migrations(dialect goose.Dialect) (fs.FS, error) {
	if dialect == goose.DialectPostgres {
		return fs.Sub(migrationFiles, "migrations/postgres")
	}
	return fs.Sub(migrationFiles, "migrations/sqlite")
}

// migrate brings the tables up to date, with a transaction for each migration. It refuses a database with a newer
// schema, since this program cannot interpret its rows.
func migrate(ctx context.Context, path string, pool *sql.DB, dialect goose.Dialect, log *zap.Logger) error {
	files, err := Migrations(dialect)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, pool, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return unreadable(path, err)
	}
	if have > want {
		return newer(path, have, want)
	}
	if have == want {
		return nil
	}
	start := time.Now()
	if err := up(ctx, p); err != nil {
		return err
	}
	log.Info("database schema updated", zap.String("database", path), zap.Int64("from", have), zap.Int64("to", want), zap.Duration("took", time.Since(start)))
	return nil
}

const upTries = 10

// up runs the missing migrations. PostgreSQL may abort a migration to resolve a deadlock with a process that is using
// the tables. The transaction has then left nothing behind, and up retries it.
func up(ctx context.Context, p *goose.Provider) error {
	for tried := 1; ; tried++ {
		_, err := p.Up(ctx)
		if stateOf(err) != pgDeadlock || tried == upTries {
			return err
		}
	}
}

package store

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// sqliteWords are what the words in double braces stand for in SQLite.
var sqliteWords = strings.NewReplacer(
	"{{serial}}", "INTEGER PRIMARY KEY",
	"{{key}}", "INTEGER PRIMARY KEY",
	"{{bytes}}", "BLOB",
)

// migrate brings the tables up to date, each migration in a transaction. A
// database that a newer program has migrated further is refused: this one does
// not know what its rows mean.
func migrate(ctx context.Context, path string, pool *sql.DB) error {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, pool, worded{files, sqliteWords}, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return unreadable(path, err)
	}
	if have > want {
		return refuse(path, "it was written by a newer apbridge (schema %d, this one knows %d). Use that version, or restore a backup made before the upgrade", have, want)
	}
	if have == want {
		return nil
	}
	_, err = p.Up(ctx)
	return err
}

// worded is a file system whose files have their words replaced.
type worded struct {
	fs.FS
	words *strings.Replacer
}

func (w worded) Open(name string) (fs.File, error) {
	f, err := w.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	text, err := fs.ReadFile(w.FS, name)
	if err != nil {
		return nil, err
	}
	return wordedFile{f, bytes.NewReader([]byte(w.words.Replace(string(text))))}, nil
}

type wordedFile struct {
	fs.File
	text *bytes.Reader
}

func (f wordedFile) Read(p []byte) (int, error) { return f.text.Read(p) }

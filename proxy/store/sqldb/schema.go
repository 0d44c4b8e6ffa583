package sqldb

import (
	"io/fs"
	"strconv"
	"strings"
)

// Schema returns the version of the tables that this program creates, which is the number of its newest migration. The
// numbers are the same for both databases.
func Schema() int64 {
	files, err := fs.ReadDir(migrationFiles, "migrations/sqlite")
	if err != nil || len(files) == 0 {
		panic("store: there are no migrations") // they are linked in
	}
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// SchemaOf returns the version of the existing tables.
func SchemaOf(t *Tx) (version int64, err error) {
	err = t.Get(`SELECT coalesce(max(version_id), 0) FROM goose_db_version`, nil, []any{&version})
	return version, err
}

// Known returns an error if a version of the tables is newer than this program.
func Known(path string, version int64) error {
	if want := Schema(); version > want {
		return newer(path, version, want)
	}
	return nil
}

func newer(path string, have, want int64) error {
	return refuse(path, "it has schema %d, but this apbridge knows only up to %d: it was written by a newer version, or by a build from before the first release. Use that version, or restore a backup made before the upgrade", have, want)
}

// KeysGiven moves the key sequence of a table (column id) past keys that were inserted explicitly. SQLite does that
// itself.
func (t *Tx) KeysGiven(table string) error {
	if !t.Shared() {
		return nil
	}
	_, err := t.Exec(`SELECT setval(pg_get_serial_sequence('` + table + `', 'id'), max(id)) FROM ` + table + ` HAVING max(id) > 0`)
	return err
}

// Alone prevents others from changing tables until the operation ends. On SQLite an operation is always alone.
func (t *Tx) Alone(tables []string) error {
	if !t.Shared() {
		return nil
	}
	_, err := t.Exec(`LOCK TABLE ` + strings.Join(tables, ", ") + ` IN EXCLUSIVE MODE`)
	return err
}

package store

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	_ "modernc.org/sqlite"
)

// Every table is either owned, dependent on owned rows, or known to contain no data of a principal.
func TestEveryTableHasAnOwnerOrNone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d, err := sqldb.Open(t.Context(), path, sqldb.Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	known := slices.Concat(dependentTables, counterTables, sharedTables)
	for _, p := range ownedTables {
		known = append(known, p.table)
	}
	known = slices.DeleteFunc(known, func(name string) bool { return name == "commits" }) // only on PostgreSQL
	slices.Sort(known)
	if diff := cmp.Diff(tablesOf(t, path), known); diff != "" {
		t.Errorf("tables (-database +known):\n%s", diff)
	}
}

func tablesOf(t *testing.T, path string) (list []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	return list
}

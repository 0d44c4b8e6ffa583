package archive

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

// Every column of every table is either exported with its type or listed as left out.
func TestEveryColumnIsExported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d, err := sqldb.Open(t.Context(), path, sqldb.Options{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, tab := range tables {
		for _, c := range tab.columns {
			want = append(want, string(c.kind)+" "+tab.name+"."+c.name)
		}
	}
	got := columnsOf(t, path)
	slices.Sort(want)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("columns (-database +export):\n%s", diff)
	}
}

func columnsOf(t *testing.T, path string) (list []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, name, kind string
		if err := rows.Scan(&table, &name, &kind); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(left, table) && !slices.Contains(left, table+"."+name) {
			list = append(list, map[string]string{"TEXT": "t", "BLOB": "*", "INTEGER": "#", "BIGINT": "#"}[kind]+" "+table+"."+name)
		}
	}
	slices.Sort(list)
	return list
}

package sqldb_test

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"
)

// The statements are written twice, once for each database. Both create the same tables, columns and indexes, except
// for the table commits and the key of items.
func TestBothDatabasesHaveTheSameSchema(t *testing.T) {
	t.Parallel()
	onlyPostgres := map[string]bool{"commits": true, "items_name": true}
	lite, postgres := schemaNames(t, goose.DialectSQLite3), schemaNames(t, goose.DialectPostgres)
	maps.DeleteFunc(postgres, func(name string, _ []string) bool { return onlyPostgres[name] })
	postgres["items"] = slices.DeleteFunc(postgres["items"], func(column string) bool { return column == "id" })
	if diff := cmp.Diff(lite, postgres); diff != "" || len(lite) < 40 {
		t.Errorf("%d names (-SQLite +PostgreSQL):\n%s", len(lite), diff)
	}
}

var (
	createTable = regexp.MustCompile(`(?s)CREATE (?:UNLOGGED )?TABLE (\w+) \((.*?)\n\)`)
	tableColumn = regexp.MustCompile(`(?m)^  (\w+) +(?:TEXT|BLOB|BYTEA|BIGINT|INTEGER) ?.*$`)
	createIndex = regexp.MustCompile(`CREATE (?:UNIQUE )?INDEX (\w+) ON (.*);`)
)

// schemaNames returns the columns of each table and the definition of each index.
func schemaNames(t *testing.T, dialect goose.Dialect) map[string][]string {
	t.Helper()
	files, err := sqldb.Migrations(dialect)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	paths, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range createTable.FindAllStringSubmatch(string(text), -1) {
			for _, column := range tableColumn.FindAllStringSubmatch(table[2], -1) {
				names[table[1]] = append(names[table[1]], column[1])
			}
		}
		for _, index := range createIndex.FindAllStringSubmatch(string(text), -1) {
			names[index[1]] = []string{index[2]}
		}
	}
	return names
}

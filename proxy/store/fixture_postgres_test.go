package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/proxy/store/sqldb"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// TestEveryOlderDatabaseIsReadOverPostgreSQL checks that data of each schema version is read over PostgreSQL, too. The
// tables are created by the migrations up to that version and filled with the rows of its fixture (C7).
func TestEveryOlderDatabaseIsReadOverPostgreSQL(t *testing.T) {
	t.Parallel()
	if *writeFixture {
		t.Skip("the fixtures are being written")
	}
	storetest.Schema(t) // without a server, skips this whole test
	for _, version := range versions(t) {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			dsn := storetest.Schema(t)
			c := olderTables{t, openPostgres(t, dsn), openFixture(t, unpacked(t, fixture(version)))}
			c.make(int64(version))
			c.fill()
			if diff := cmp.Diff(readOf(t, version), readAll(t, dsn)); diff != "" {
				t.Errorf("data read (-want +got):\n%s", diff)
			}
		})
	}
}

func openPostgres(t *testing.T, dsn string) *sql.DB {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cfg)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openFixture(t *testing.T, path string) *sql.DB {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// olderTables creates the tables of an older version in an empty PostgreSQL schema, from a fixture of that version.
type olderTables struct {
	*testing.T
	made, fixture *sql.DB
}

func (c olderTables) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c olderTables) make(version int64) {
	files, err := sqldb.Migrations(goose.DialectPostgres)
	c.ok(err)
	p, err := goose.NewProvider(goose.DialectPostgres, c.made, files, goose.WithDisableGlobalRegistry(true))
	c.ok(err)
	_, err = p.UpTo(context.Background(), version)
	c.ok(err)
}

// fill copies every row of the fixture, except the lease of the process that wrote it. On SQLite leases never expire,
// and here it has expired.
func (c olderTables) fill() {
	names := c.names(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('goose_db_version', 'processes') ORDER BY name`)
	if len(names) < 5 {
		c.Fatalf("the fixture has the tables %v", names)
	}
	for _, name := range names {
		c.copyTable(name, c.names(`SELECT name FROM pragma_table_info('`+name+`')`))
	}
}

func (c olderTables) names(query string) (list []string) {
	rows, err := c.fixture.Query(query)
	c.ok(err)
	defer rows.Close()
	for rows.Next() {
		var name string
		c.ok(rows.Scan(&name))
		list = append(list, name)
	}
	c.ok(rows.Err())
	return list
}

func (c olderTables) copyTable(name string, columns []string) {
	_, err := c.made.Exec("DELETE FROM " + name) // a migration has inserted rows that the fixture also contains
	c.ok(err)
	rows, err := c.fixture.Query("SELECT * FROM " + name)
	c.ok(err)
	defer rows.Close()
	places := make([]string, len(columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	insert := "INSERT INTO " + name + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(places, ", ") + ")"
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		c.ok(rows.Scan(into...))
		_, err := c.made.Exec(insert, values...)
		c.ok(err)
	}
	c.ok(rows.Err())
	if columns[0] == "id" { // new rows must not get the ids of copied ones
		_, err := c.made.Exec(`SELECT setval(s, greatest((SELECT max(id) FROM ` + name + `), 1)) FROM pg_get_serial_sequence('` + name + `', 'id') s WHERE s IS NOT NULL`)
		c.ok(err)
	}
}

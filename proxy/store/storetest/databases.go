// Package storetest gives tests databases of both kinds, configured by environment variables that no other package
// reads. Package blank provides those with tables. Test support only.
package storetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable names the URL of a PostgreSQL server for tests.
const Variable = "APBRIDGE_TEST_POSTGRES"

// Databases runs a test twice, as parallel subtests: on SQLite, and on PostgreSQL if Variable is set. fresh returns the
// path of a file that does not exist yet, or the URL of an empty schema.
func Databases(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	Each(t, path, Schema, test)
}

// Each is like Databases, with other functions that create a file and a database on the server.
func Each(t *testing.T, file, server func(testing.TB) string, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, file)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		if os.Getenv(Variable) == "" {
			t.Skip(unset)
		}
		test(t, server)
	})
}

// newName returns a unique name for a schema or a database.
func newName() string { return "apbridge_test_" + strings.ToLower(rand.Text()[:16]) }

func path(t testing.TB) string { return filepath.Join(t.TempDir(), "bridge.db") }

const unset = Variable + " is not set: it names a PostgreSQL server, as in postgres://user@127.0.0.1:5432/test"

// Everywhere names the variable that makes all tests that do not depend on the kind of database run on PostgreSQL, if
// it is "postgres".
const Everywhere = "APBRIDGE_TEST_DATABASE"

// Flushing names the variable that sets synchronous for tests, full (the default) or normal.
const Flushing = "APBRIDGE_TEST_SYNCHRONOUS"

// Synchronous returns the setting of synchronous to test with.
func Synchronous() string { return cmp.Or(os.Getenv(Flushing), "full") }

// DSN returns a new database of the kind selected by Everywhere, SQLite by default. It leaves a note in the test's log:
// .ci/suite uses it to run the tests of bridges that called DSN over PostgreSQL, and those that were skipped for lack
// of a server.
func DSN(t testing.TB) string {
	t.Helper()
	return Chosen(t, path, Schema)
}

// Chosen is like DSN, with other functions that create a file and a database on the server.
func Chosen(t testing.TB, file, server func(testing.TB) string) string {
	t.Helper()
	if os.Getenv(Everywhere) == "postgres" {
		return server(t)
	}
	t.Log("running on a SQLite file; set " + Everywhere + "=postgres to run on PostgreSQL")
	return file(t)
}

// File skips a test that needs a SQLite file if tests run on PostgreSQL.
func File(t testing.TB) {
	t.Helper()
	if os.Getenv(Everywhere) == "postgres" {
		t.Skip("needs a SQLite file; " + Everywhere + " is postgres")
	}
}

// Served reports whether there is a PostgreSQL server, for a test that does less without one. It leaves a note in the
// test's log, like DSN.
func Served(t testing.TB) bool {
	t.Helper()
	if os.Getenv(Variable) != "" {
		return true
	}
	t.Log(unset)
	return false
}

// Schema creates an empty schema, which is dropped at the end of the test, and returns the URL of the database with
// that schema first in the search path. It skips the test if Variable is not set.
func Schema(t testing.TB) string {
	t.Helper()
	server := os.Getenv(Variable)
	if server == "" {
		t.Skip(unset)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(Variable, err)
	}
	name := newName()
	Exec(t, server, "CREATE SCHEMA "+name)
	t.Cleanup(func() { Exec(t, server, "DROP SCHEMA "+name+" CASCADE") })
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// Exec runs a statement on a PostgreSQL database, which may be in use.
func Exec(t testing.TB, dsn, text string) {
	t.Helper()
	if err := execute(dsn, text); err != nil {
		t.Error(err)
	}
}

func execute(dsn, text string) error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, text)
	return err
}

// Passed returns a database clock for tests that run with a fake clock (testing/synctest), which the machine's clock
// does not follow.
func Passed() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

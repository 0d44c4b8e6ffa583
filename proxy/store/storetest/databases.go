// Package storetest gives tests databases of both kinds, from an environment that no other package reads. Those with
// tables are package blank's. Test support only: nothing that is built imports it.
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

// Databases runs a test twice, as subtests that run in parallel: over SQLite, and over PostgreSQL where Variable is
// set. fresh returns the path of a file that is not there yet, or the URL of an empty schema.
func Databases(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	Each(t, path, Schema, test)
}

// Each is Databases with other ways to make a file and a database of the server.
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

// newName is the name of a schema or a database of the test's own.
func newName() string { return "apbridge_test_" + strings.ToLower(rand.Text()[:16]) }

func path(t testing.TB) string { return filepath.Join(t.TempDir(), "bridge.db") }

const unset = Variable + " is not set: it names a PostgreSQL server, as in postgres://user@127.0.0.1:5432/test"

// Everywhere is the variable that has all tests that are not about one kind of database run over PostgreSQL, when it is
// "postgres".
const Everywhere = "APBRIDGE_TEST_DATABASE"

// Flushing is the variable that has tests run with another setting of synchronous than the default, full: normal.
const Flushing = "APBRIDGE_TEST_SYNCHRONOUS"

// Synchronous returns the setting of synchronous to test with.
func Synchronous() string { return cmp.Or(os.Getenv(Flushing), "full") }

// DSN returns a new database of the kind that tests run over: SQLite, or what Everywhere says. The test's log notes the
// question: over PostgreSQL .ci/suite runs the tests of bridges that asked, and those that were left out for want of a
// server.
func DSN(t testing.TB) string {
	t.Helper()
	return Chosen(t, path, Schema)
}

// Chosen is DSN with other ways to make a file and a database of the server.
func Chosen(t testing.TB, file, server func(testing.TB) string) string {
	t.Helper()
	if os.Getenv(Everywhere) == "postgres" {
		return server(t)
	}
	t.Log("over a file of SQLite; " + Everywhere + "=postgres has this run over PostgreSQL")
	return file(t)
}

// File skips the test, which is about the file of SQLite, where tests run over PostgreSQL.
func File(t testing.TB) {
	t.Helper()
	if os.Getenv(Everywhere) == "postgres" {
		t.Skip("about the file of SQLite; " + Everywhere + " is postgres")
	}
}

// Served reports whether there is a PostgreSQL server, for a test that does less without one. The test's log notes the
// question, as with DSN.
func Served(t testing.TB) bool {
	t.Helper()
	if os.Getenv(Variable) != "" {
		return true
	}
	t.Log(unset)
	return false
}

// Schema makes an empty schema, which goes at the end of the test, and returns the URL of the database with that schema
// in front. It skips the test when Variable is not set.
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

// Exec runs a statement on a PostgreSQL database, beside whatever uses it.
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

// Passed returns the clock of a database for tests that run on a clock of their own (testing/synctest), which the clock
// of the machine does not follow.
func Passed() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

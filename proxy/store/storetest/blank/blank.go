// Package blank gives tests databases of both kinds that already have their tables. Creating the tables takes longer
// than most tests, especially on PostgreSQL and under the race detector. So they are created once per process, and each
// test gets a copy. Tests of empty databases use package storetest. Test support only.
package blank

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// Databases is like storetest.Databases, but fresh returns the path or the URL of a database with tables.
func Databases(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	storetest.Each(t, File, server, test)
}

// DSN is like storetest.DSN, for a database with tables.
func DSN(t testing.TB) string {
	t.Helper()
	return storetest.Chosen(t, File, server)
}

// File returns the path of a SQLite file with tables.
func File(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bridge.db")
	content, err := file()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// server returns the URL of a PostgreSQL database with tables.
func server(t testing.TB) string {
	t.Helper()
	if !storetest.Served(t) {
		t.SkipNow()
	}
	m, err := made.get()
	if err != nil {
		t.Fatal(err)
	}
	return m.Copy(t)
}

// Drop removes everything that the process has left on the server. TestMain calls it after the tests.
func Drop() { made.drop() }

// file returns the content of a SQLite file with tables.
var file = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "apbridge-blank-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "blank.db")
	if err := fill(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func fill(dsn string) error {
	st, err := store.Open(context.Background(), dsn, store.Options{}, zap.NewNop())
	if err != nil {
		return err
	}
	return st.Close()
}

// made is the process's template, created for the first copy.
var made template

type template struct {
	mu sync.Mutex
	of *storetest.Template
}

func (m *template) get() (of *storetest.Template, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of, err = storetest.NewTemplate(fill)
	}
	return m.of, err
}

func (m *template) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of != nil {
		_ = m.of.Drop()
		m.of = nil
	}
}

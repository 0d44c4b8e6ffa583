package storetest

import (
	"fmt"
	"net/url"
	"os"
	"testing"
)

// Template is a database on the server of Variable that tests copy. Nothing may be connected to it. Safe for concurrent
// use.
type Template struct{ server, name string }

// NewTemplate returns a new database, written by fill, which must leave no connection to it. The user of the server
// must be allowed to create databases.
func NewTemplate(fill func(dsn string) error) (*Template, error) {
	m := &Template{server: os.Getenv(Variable), name: newName()}
	if err := execute(m.server, "CREATE DATABASE "+m.name); err != nil {
		return nil, fmt.Errorf("the server that %s names: %w", Variable, err)
	}
	dsn, err := m.at(m.name)
	if err == nil {
		err = fill(dsn)
	}
	if err != nil {
		_ = m.Drop()
		return nil, err
	}
	return m, nil
}

// Copy creates a copy, which is dropped at the end of the test, and returns its URL.
func (m *Template) Copy(t testing.TB) string {
	t.Helper()
	name := newName()
	if err := execute(m.server, "CREATE DATABASE "+name+" TEMPLATE "+m.name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Exec(t, m.server, dropped(name)) })
	dsn, err := m.at(name)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// Drop removes the template, but not its copies.
func (m *Template) Drop() error { return execute(m.server, dropped(m.name)) }

// dropped forces out remaining connections, since the server may not have noticed yet that they were closed.
func dropped(name string) string { return "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)" }

// at returns the URL of a database of the server. It always has a query.
func (m *Template) at(name string) (string, error) {
	u, err := url.Parse(m.server)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Variable, err)
	}
	q := u.Query()
	q.Set("search_path", "public")
	u.Path, u.RawQuery = "/"+name, q.Encode()
	return u.String(), nil
}

package store

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	sqlite3 "zombiezen.com/go/sqlite"
)

// session is one database connection with the statements prepared on it. Not
// for concurrent use.
//
// It stands on SQLite's own interface, not on database/sql: that asks for the
// names of parameters and the declared types of columns at every execution, which
// cost an eighth of a transaction.
type session struct {
	conn *sqlite3.Conn
	kept map[string]*prepared
}

// prepared is a statement, and whether somebody is reading from it.
type prepared struct {
	*sqlite3.Stmt
	busy  bool
	heavy bool // it holds on to a large argument
	spare bool // beside the kept one of its text, while that is busy
}

// keptMost bounds the prepared statements of a session: all fixed texts fit,
// the rest are lists of varying length.
const keptMost = 400

// heavyMost is the size of arguments that a kept statement may hold on to.
const heavyMost = 64 << 10

func newSession(conn *sqlite3.Conn) *session {
	return &session{conn: conn, kept: make(map[string]*prepared)}
}

// stmt is the statement for a text, with its arguments. The caller lets it go.
func (s *session) stmt(text string, args in) (*prepared, error) {
	p := s.kept[text]
	if p == nil || p.busy {
		var err error
		if p, err = s.prepare(text, p == nil); err != nil {
			return nil, err
		}
	}
	p.busy = true
	if err := p.bind(args); err != nil {
		s.letGo(p)
		return nil, err
	}
	return p, nil
}

// prepare makes a statement, which is kept where it is the only one of its text.
func (s *session) prepare(text string, keep bool) (*prepared, error) {
	if keep && len(s.kept) >= keptMost {
		s.forget()
	}
	st, trailing, err := s.conn.PrepareTransient(numbered(text))
	switch {
	case err != nil:
		return nil, err
	case trailing > 0:
		_ = st.Finalize()
		return nil, fmt.Errorf("store: more than one statement: %s", text)
	}
	p := &prepared{Stmt: st, spare: !keep}
	if keep {
		s.kept[text] = p
	}
	return p, nil
}

// letGo makes a statement ready for its next use.
func (s *session) letGo(p *prepared) {
	if p.spare {
		_ = p.Finalize()
		return
	}
	_ = p.Reset() // it repeats the error of the last step
	if p.heavy {
		_ = p.ClearBindings()
		p.heavy = false
	}
	p.busy = false
}

// parameter is one as statements write it.
var parameter = regexp.MustCompile(`\$([0-9]+)`)

// numbered writes "?1" for the parameter $1, which SQLite would hold for a name.
func numbered(text string) string { return parameter.ReplaceAllString(text, "?$1") }

func (s *session) forget() {
	for text, st := range s.kept {
		if !st.busy {
			_ = st.Finalize()
			delete(s.kept, text)
		}
	}
}

func (s *session) close() (err error) {
	if s.forget(); s.conn != nil {
		err, s.conn = s.conn.Close(), nil
	}
	return err
}

// exec runs a statement and tells how many rows it changed.
func (s *session) exec(text string, args in) (int64, error) {
	st, err := s.stmt(text, args)
	if err != nil {
		return 0, err
	}
	defer s.letGo(st)
	for more := true; more && err == nil; {
		more, err = st.Step()
	}
	return int64(s.conn.Changes()), err
}

// insert asks the connection for the key: reading it as a row costs more.
func (s *session) insert(text string, args in) (key int64, err error) {
	if err := only(s.exec(text, args)); err != nil {
		return 0, err
	}
	return s.conn.LastInsertRowID(), nil
}

func (s *session) put(text string, args in) error {
	_, err := s.exec(text, args)
	return err
}

func (s *session) get(text string, args in, dest out) error {
	st, err := s.stmt(text, args)
	if err != nil {
		return err
	}
	defer s.letGo(st)
	switch found, err := st.Step(); {
	case err != nil:
		return err
	case !found:
		return sql.ErrNoRows
	}
	return st.scan(dest...)
}

func (s *session) until(text string, args in, row func(scan func(...any) error) (more bool, err error)) error {
	st, err := s.stmt(text, args)
	if err != nil {
		return err
	}
	defer s.letGo(st)
	for {
		found, err := st.Step()
		if err != nil || !found {
			return err
		}
		if more, err := row(st.scan); err != nil || !more {
			return err
		}
	}
}

// shared: the writer is the only one who changes anything.
func (s *session) shared() bool { return false }

// tuples writes rows × width parameters as "($1,$2),($3,$4)".
func tuples(rows, width int) string {
	var b strings.Builder
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('(')
		for c := range width {
			if c > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(r*width + c + 1))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// list writes n parameters from $from on as "$3,$4".
func list(from, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(parts, ",")
}

// page writes LIMIT and OFFSET with the parameters $at and $at+1.
func page(at int) string {
	return "LIMIT CAST($" + strconv.Itoa(at) + " AS BIGINT) OFFSET CAST($" + strconv.Itoa(at+1) + " AS BIGINT)"
}

// limitOf is a LIMIT parameter; 0 is none.
//
// Statements write LIMIT CAST($1 AS BIGINT): SQLite looks at a bare bound LIMIT
// while it plans, and for that plans anew at every execution.
func limitOf(n int) int64 {
	if n <= 0 {
		return 1 << 62
	}
	return int64(n)
}

// readers is a pool of sessions that only read.
type readers struct {
	open   func() (*session, error)
	free   chan *session // nil entries are sessions not opened yet
	closed atomic.Bool
}

func newReaders(n int, open func() (*session, error)) *readers {
	r := &readers{open: open, free: make(chan *session, n)}
	for range n {
		r.free <- nil
	}
	return r
}

func (r *readers) take(ctx context.Context) (*session, error) {
	select {
	case s := <-r.free:
		if s != nil {
			return s, nil
		}
		if r.closed.Load() {
			r.free <- nil
			return nil, errClosed
		}
		s, err := r.open()
		if err != nil {
			r.free <- nil
		}
		return s, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lend has do use a session.
func (r *readers) lend(ctx context.Context, do func(*session) error) error {
	s, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer func() { r.free <- s }()
	return do(s)
}

// close waits for the sessions in use and closes all.
func (r *readers) close() {
	r.closed.Store(true)
	for range cap(r.free) {
		if s := <-r.free; s != nil {
			_ = s.close()
		}
	}
	for range cap(r.free) {
		r.free <- nil
	}
}

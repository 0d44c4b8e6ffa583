package store

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// session is one database connection with the statements prepared on it. Not
// for concurrent use.
type session struct {
	conn  *sql.Conn
	kept  map[string]*prepared
	wrote bool // something was run since this was reset that is no SELECT
}

// keptMost bounds the prepared statements of a session: all fixed texts fit,
// the rest are lists of varying length.
const keptMost = 400

func newSession(conn *sql.Conn) *session {
	return &session{conn: conn, kept: make(map[string]*prepared)}
}

func (s *session) stmt(text string) (*prepared, error) {
	s.wrote = s.wrote || !strings.HasPrefix(text, "SELECT")
	if st := s.kept[text]; st != nil {
		return st, nil
	}
	if len(s.kept) >= keptMost {
		s.forget()
	}
	// Statements outlive the operation that needed them first, and a driver
	// that watches a context starts a goroutine per call: none is passed on.
	plain, order := nameless(text)
	st, err := s.conn.PrepareContext(context.Background(), plain)
	if err != nil {
		return nil, err
	}
	p := &prepared{Stmt: st, order: order}
	if order != nil {
		p.needs = slices.Max(order) + 1
	}
	s.kept[text] = p
	return p, nil
}

// prepared is a statement with the arguments that its parameters stand for, one
// after the other; no order: as they come.
type prepared struct {
	*sql.Stmt
	order []int
	needs int // arguments
}

// arranged are the arguments in the order of the statement's parameters; none
// where there are too few, which the driver refuses.
func (p *prepared) arranged(args in) in {
	switch {
	case p.order == nil:
		return args
	case len(args) < p.needs:
		return nil
	}
	list := make(in, len(p.order))
	for i, from := range p.order {
		list[i] = args[from]
	}
	return list
}

// parameter is one as statements write it.
var parameter = regexp.MustCompile(`\$[0-9]+`)

// nameless writes "?" for parameters: SQLite holds $1 for a name, and the driver
// asks for the names of all of them at every execution, each by a search from the
// first on. order tells which argument each stands for, nil where they come in
// their order, each once.
func nameless(text string) (plain string, order []int) {
	inOrder := true
	for i, name := range parameter.FindAllString(text, -1) {
		n, _ := strconv.Atoi(name[1:])
		order = append(order, n-1)
		inOrder = inOrder && n-1 == i
	}
	if inOrder {
		order = nil
	}
	return parameter.ReplaceAllLiteralString(text, "?"), order
}

func (s *session) forget() {
	for text, st := range s.kept {
		_ = st.Close()
		delete(s.kept, text)
	}
}

func (s *session) close() error {
	s.forget()
	return s.conn.Close()
}

// exec runs a statement and tells how many rows it changed.
func (s *session) exec(text string, args in) (int64, error) {
	res, err := s.run(text, args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (s *session) run(text string, args in) (sql.Result, error) {
	st, err := s.stmt(text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(context.Background(), st.arranged(args)...)
}

// insert asks the connection for the key: reading it as a row costs the driver
// three times the statement.
func (s *session) insert(text string, args in) (key int64, err error) {
	res, err := s.run(text, args)
	if err != nil {
		return 0, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, errors.Join(err, sql.ErrNoRows)
	}
	return res.LastInsertId()
}

func (s *session) put(text string, args in) error {
	_, err := s.exec(text, args)
	return err
}

func (s *session) get(text string, args in, dest out) error {
	st, err := s.stmt(text)
	if err != nil {
		return err
	}
	return st.QueryRowContext(context.Background(), st.arranged(args)...).Scan(dest...)
}

func (s *session) until(text string, args in, row func(scan func(...any) error) (more bool, err error)) error {
	st, err := s.stmt(text)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(context.Background(), st.arranged(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := row(rows.Scan); err != nil || !more {
			return err
		}
	}
	return rows.Err()
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
	open   func(context.Context) (*session, error)
	free   chan *session // nil entries are sessions not opened yet
	closed atomic.Bool
}

func newReaders(n int, open func(context.Context) (*session, error)) *readers {
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
		s, err := r.open(ctx)
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

package storetest

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Wire is a proxy between a program and its PostgreSQL server that simulates failures of networks and servers. Safe for
// concurrent use.
type Wire struct {
	server string

	mu     sync.Mutex
	lines  map[*line]struct{}
	answer bool          // drop the next answer to a COMMIT and cut its connection
	hold   int           // number of COMMITs that are still to be held back
	held   chan struct{} // closed when that many were held back
	reply  chan struct{} // closed when the response to a COMMIT was held back; nil if no response is to be held back
	of     []byte        // data sent with that COMMIT
	commit []byte        // name of the prepared statement COMMIT, once known
	cuts   int
	made   int
}

// line is one connection.
type line struct {
	client, server net.Conn
	gone           chan struct{} // closed when both ends are closed
	once           sync.Once
	mu             sync.Mutex
	silent         bool
	said           []byte   // the client's last message; guarded by Wire.mu
	to             net.Conn // with kept: the end that it was held back from
	kept           []byte
}

// Through starts a Wire to the server of dsn and returns the URL that goes through it.
func Through(t testing.TB, dsn string) (*Wire, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{server: u.Host, lines: map[*line]struct{}{}}
	t.Cleanup(func() {
		_ = l.Close()
		w.Cut()
	})
	go w.accept(l)
	q := u.Query()
	q.Set("sslmode", "disable") // so that the wire can read the protocol
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	return w, u.String()
}

func (w *Wire) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &line{client: client, server: server, gone: make(chan struct{})}
		w.mu.Lock()
		w.lines[c] = struct{}{}
		w.made++
		w.mu.Unlock()
		go w.carry(c, c.server, c.client, w.ask)
		go w.carry(c, c.client, c.server, w.tell)
	}
}

// carry forwards the data that judge accepts, until one end closes. A silent line stays open for its client.
func (w *Wire) carry(c *line, to, from net.Conn, judge func(*line, []byte) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		switch {
		case c.isSilent():
			if err != nil {
				return
			}
			continue
		case err != nil:
			w.drop(c)
			return
		case !judge(c, buf[:n]):
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			w.drop(c)
			return
		}
	}
}

func (c *line) isSilent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

func (c *line) silence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

// keep holds data back and makes the connection silent.
func (c *line) keep(to net.Conn, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent, c.to, c.kept = true, to, bytes.Clone(b)
}

// deliver forwards the data that keep held back.
func (c *line) deliver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.to != nil {
		_, _ = c.to.Write(c.kept)
		c.silent, c.to, c.kept = false, nil, nil
	}
}

func (w *Wire) drop(c *line) {
	w.mu.Lock()
	delete(w.lines, c)
	w.mu.Unlock()
	_ = c.client.Close()
	_ = c.server.Close()
	c.once.Do(func() { close(c.gone) })
}

// ask judges what a client sends. It learns the name of the statement COMMIT when that is prepared.
func (w *Wire) ask(c *line, b []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.said = bytes.Clone(b)
	if at := bytes.Index(b, []byte("\x00COMMIT\x00")); at >= 0 {
		name := b[:at]
		w.commit = bytes.Clone(name[bytes.LastIndexByte(name, 0)+2:]) // after the type and the length of the message
		w.commit = w.commit[max(0, bytes.Index(w.commit, []byte("stmtcache_"))):]
		return true
	}
	if w.hold == 0 || len(w.commit) == 0 || !bytes.Contains(b, w.commit) {
		return true
	}
	c.keep(c.server, b)
	if w.hold--; w.hold == 0 {
		close(w.held)
	}
	return false
}

// tell judges what the server sends.
func (w *Wire) tell(c *line, b []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !bytes.Contains(b, []byte("COMMIT\x00")) {
		return true
	}
	switch {
	case w.answer:
		w.answer = false
		w.cuts++
		go w.drop(c)
	case w.reply != nil && bytes.Contains(c.said, w.of):
		c.keep(c.client, b)
		close(w.reply)
		w.reply = nil
	default:
		return true
	}
	return false
}

// CutAnswer lets the next commit take place, but cuts the connection instead of forwarding the response.
func (w *Wire) CutAnswer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = true
}

// Cuts returns the number of responses that were cut.
func (w *Wire) Cuts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cuts
}

// Connections returns the number of connections made so far.
func (w *Wire) Connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made
}

// HoldCommits holds back the next n COMMITs, and everything after them on their connections. The channel is closed when
// all have been sent. A commit must have gone through the Wire before.
func (w *Wire) HoldCommits(n int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold, w.held = n, make(chan struct{})
	return w.held
}

// Silence stops forwarding data in both directions on existing connections, without closing them. New ones work.
func (w *Wire) Silence() {
	for _, c := range w.all() {
		c.silence()
	}
}

// HangUp closes the client's end of silent connections, without the server noticing. The channel is closed when the
// server's ends are closed, too, which happens after the held data was delivered and the server has answered it.
func (w *Wire) HangUp() <-chan struct{} {
	var hung []*line
	for _, c := range w.all() {
		if c.isSilent() {
			_ = c.client.Close()
			hung = append(hung, c)
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, c := range hung {
			<-c.gone
		}
	}()
	return over
}

// HoldAnswer lets the next commit that is sent together with of take place, and holds back its response. The channel is
// closed when that has happened.
func (w *Wire) HoldAnswer(of string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reply, w.of = make(chan struct{}), []byte(of)
	return w.reply
}

// Deliver forwards everything that was held back, and everything after it.
func (w *Wire) Deliver() {
	for _, c := range w.all() {
		c.deliver()
	}
}

// Cut closes all connections.
func (w *Wire) Cut() {
	for _, c := range w.all() {
		w.drop(c)
	}
}

func (w *Wire) all() (list []*line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.lines {
		list = append(list, c)
	}
	return list
}

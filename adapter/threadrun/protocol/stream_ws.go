package protocol

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/coder/websocket"
	"go.uber.org/zap"
)

// socket is one connection. It receives commands and sends replies and the events of its subscriptions. Each is one
// message.
type socket struct {
	s        *Server
	conn     *websocket.Conn
	request  context.Context // of the handshake; ends when the bridge stops
	ctx      context.Context // ends with the connection
	thread   string
	spelling Spelling // of the path

	working sync.WaitGroup
	pumping pumping
	open    map[string]*subscription // written by the reader, under mu
	over    int64                    // runs that ended at or before this entry of the log are not replayed; under mu
	begun   int                      // runs started by the socket whose end it has not passed yet; under mu
	mu      sync.Mutex
}

// subprotocol is offered by pages that send a key as another subprotocol (see proxy/auth), because browsers require the
// server to choose one of those offered.
const subprotocol = "apbridge"

// ServeSocket handles a request for a WebSocket whose Origin has been checked. It returns when the connection has
// ended, or an error if there was no connection.
func (s *Server) ServeSocket(w http.ResponseWriter, r *http.Request, thread string, spelling Spelling) error {
	if !isHandshake(r) {
		return mapping.Errorf(mapping.Malformed, mapping.CodeInvalid, "This route opens a WebSocket, but the request is not a handshake (RFC 6455, version 13). Use POST for server-sent events.")
	}
	defer adapter.MarkLongLived(r.Context())()
	last, err := s.lastEntry(r.Context(), thread)
	if err != nil {
		return err
	}
	conn, err := accept(w, r)
	if err != nil {
		return nil // accept has responded
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(s.Message)
	// Reads do not use the request's context, because its end would drop the connection. When the bridge stops, the
	// connection should be closed properly.
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
	k := &socket{s: s, conn: conn, request: r.Context(), ctx: ctx, thread: thread, spelling: spelling, open: map[string]*subscription{}, over: last}
	defer k.working.Wait()
	defer stop()
	defer k.hold() // never released
	defer k.attend()()
	k.read()
	return nil
}

// accept completes a handshake in a separate goroutine: see aside.
func accept(w http.ResponseWriter, r *http.Request) (conn *websocket.Conn, err error) {
	err = aside(func() (err error) {
		conn, err = websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{subprotocol}})
		return err
	})
	return conn, err
}

// isHandshake reports whether the library would accept a request as a WebSocket handshake. The library's own refusals
// are plain text.
func isHandshake(r *http.Request) bool {
	keys := r.Header.Values("Sec-WebSocket-Key")
	if len(keys) != 1 || r.Header.Get("Sec-WebSocket-Version") != "13" {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(keys[0])
	return err == nil && len(key) == 16 && r.ProtoAtLeast(1, 1) &&
		has(r.Header, "Connection", "upgrade") && has(r.Header, "Upgrade", "websocket")
}

// has reports whether a header lists a word.
func has(h http.Header, name, word string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), word) {
				return true
			}
		}
	}
	return false
}

// read executes commands until the connection ends.
func (k *socket) read() {
	for {
		kind, message, err := k.conn.Reader(k.ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = k.conn.Close(websocket.StatusUnsupportedData, "A command is a text message.")
			return
		}
		if err := k.serveCommand(message); err != nil {
			return
		}
	}
}

// serveCommand reads, executes and answers one command. Memory for it is reserved as for a request body. It returns
// errors of the connection.
func (k *socket) serveCommand(message io.Reader) error {
	held := adapter.MemoryBudgetOf(k.ctx).Count(k.ctx, k.paced(message))
	defer held.Close()
	raw, err := io.ReadAll(held)
	if e := (*mapping.Error)(nil); errors.As(err, &e) {
		_ = k.conn.Close(websocket.StatusTryAgainLater, tryLater(e))
	}
	if err != nil {
		return err
	}
	return aside(func() error { return k.answer(raw) })
}

// tryLater returns the reason for closing a connection for lack of memory. A close frame can hold 123 bytes of it.
func tryLater(e *mapping.Error) string {
	if e.Class == mapping.Limited {
		return "The key or its tenant has no memory left for this message (" + e.Code + "). Try again in a moment."
	}
	return "There is not enough memory for this message. Try again in a moment."
}

// aside calls do in a separate goroutine and waits for it. Starting a run needs a large stack; this way it is freed at
// once instead of being kept by each of many open connections. A panic is passed on to the caller.
func aside(do func() error) (err error) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		err = do()
	}()
	if p := <-done; p != nil {
		panic(p)
	}
	return err
}

// attend sends pings until end is called, to detect a client that has disappeared without a close. It closes the
// connection when the bridge stops. It only uses a goroutine while it has something to do.
func (k *socket) attend() (end func()) {
	beat := newHeartbeat(k.s.Heartbeat, func() bool {
		alive := k.timed(k.conn.Ping) == nil
		if !alive {
			_ = k.conn.CloseNow()
		}
		return alive
	})
	unhook := context.AfterFunc(k.request, func() { _ = k.conn.Close(farewell(k.request)) })
	return func() {
		unhook()
		beat.stop()
	}
}

// farewell returns the close code and reason for a connection whose request has ended. A client with expired
// credentials needs new ones; a client of a stopping bridge may reconnect.
func farewell(request context.Context) (websocket.StatusCode, string) {
	if e := (*mapping.Error)(nil); errors.As(context.Cause(request), &e) && e.Class == mapping.Unauthorized {
		return closedFor + http.StatusUnauthorized, "The credentials of this connection are no longer valid."
	}
	return websocket.StatusGoingAway, "The bridge is shutting down."
}

// timed calls do with a context that is limited to the time that a client may take.
func (k *socket) timed(do func(context.Context) error) error {
	patience := k.s.patience
	if patience == 0 {
		patience = sse.WriteTimeout
	}
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	return do(ctx)
}

// write sends one message. It disconnects a client that does not read it.
func (k *socket) write(message []byte) error {
	return k.timed(func(ctx context.Context) error { return k.conn.Write(ctx, websocket.MessageText, message) })
}

// answer executes one command. It returns errors of the connection.
func (k *socket) answer(raw json.RawMessage) error {
	c, err := k.s.read(k.ctx, k.thread, raw)
	if limited := adapter.MemoryBudgetOf(k.ctx).Request(k.ctx); limited != nil {
		err = limited
	}
	if err != nil {
		return k.write(errorReply(c.id, mapping.Classify(err), nil, k.spelling))
	}
	var after func() // to be called after the reply
	run := operations[c.method].carry
	if own := k.operation(c.method, &after); own != nil {
		run = own
	}
	if _, starts := verbs[c.method]; starts {
		run = k.counting(run)
	}
	if quiet[c.method] {
		k.hold()
		defer k.release()
	}
	ctx, done := mapping.BeginAudited(c.ctx, "thread")
	c.ctx = ctx
	body, err := c.reply(run, k.spelling)
	if done(err); err != nil {
		body = errorReply(c.id, k.failed(err), nil, k.spelling)
	}
	if err := k.write(body); err != nil {
		return err
	}
	if after != nil {
		after()
	}
	return nil
}

// failed returns the client's view of an internal error. Only the log has its text.
func (k *socket) failed(err error) *mapping.Error {
	e := mapping.Classify(err)
	if e.Class == mapping.Internal {
		k.s.Log.Error("command failed", zap.String("thread", k.thread), zap.Error(err))
	}
	return e
}

// send sends the events after since that subscriptions want until ctx ends. If the connection breaks, the reader
// notices that itself.
func (k *socket) send(ctx context.Context, since int64) {
	var lost error
	err := k.s.follow(ctx, k.thread, since, nil, func(ev *event, at position) error {
		if k.wants(ev, at) {
			lost = k.write(ev.encode(at, k.spelling))
		}
		return lost
	})
	switch {
	case err == nil || ctx.Err() != nil || lost != nil:
	case k.request.Err() != nil: // the bridge is stopping
		_ = k.conn.Close(farewell(k.request))
	case isNotFound(err):
		_ = k.conn.Close(closedFor+http.StatusNotFound, "The thread was deleted.")
	default:
		_ = k.conn.Close(websocket.StatusInternalError, "The thread's events cannot be read.")
		k.s.Log.Warn("stream interrupted", zap.String("thread", k.thread), zap.Error(err))
	}
}

// wants reports whether a subscription lacks an event, and advances all of them past it.
func (k *socket) wants(ev *event, at position) (wanted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ev.ends {
		k.over = max(k.over, at.seq)
		k.begun = max(k.begun-1, 0)
	}
	for _, sub := range k.open {
		if at.isBehind(sub.got) {
			wanted = wanted || sub.wants(ev, at)
			sub.got = at
		}
	}
	return wanted
}

// closedFor plus an HTTP status is a close code that SDKs treat as final.
const closedFor = 4000

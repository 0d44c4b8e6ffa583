package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/coder/websocket"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// An invalid WebSocket handshake is refused with the bridge's own error.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	const key = "MDEyMzQ1Njc4OTAxMjM0NQ=="
	for name, tt := range map[string]struct {
		change func(r *http.Request)
		want   bool
	}{
		"as it should be": {func(*http.Request) {}, true},
		"lists, in other case": {func(r *http.Request) {
			r.Header.Set("Connection", "keep-alive, Upgrade")
			r.Header.Set("Upgrade", "WebSocket")
		}, true},
		"two lines":           {func(r *http.Request) { r.Header["Connection"] = []string{"keep-alive", "upgrade"} }, true},
		"no key":              {func(r *http.Request) { r.Header.Del("Sec-WebSocket-Key") }, false},
		"two keys":            {func(r *http.Request) { r.Header.Add("Sec-WebSocket-Key", key) }, false},
		"a short key":         {func(r *http.Request) { r.Header.Set("Sec-WebSocket-Key", "c2hvcnQ=") }, false},
		"a key of no base 64": {func(r *http.Request) { r.Header.Set("Sec-WebSocket-Key", key+"!") }, false},
		"another version":     {func(r *http.Request) { r.Header.Set("Sec-WebSocket-Version", "8") }, false},
		"no Connection":       {func(r *http.Request) { r.Header.Del("Connection") }, false},
		"no Upgrade":          {func(r *http.Request) { r.Header.Del("Upgrade") }, false},
		"HTTP/1.0":            {func(r *http.Request) { r.ProtoMinor = 0 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header = http.Header{"Connection": {"upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key}}
			tt.change(r)
			if got := isHandshake(r); got != tt.want {
				t.Fatalf("it was accepted as a handshake: %v", got)
			}
			if tt.want {
				return
			}
			w := httptest.NewRecorder()
			if err := newWorld().server().ServeSocket(w, r, uuid(1), Snake); mapping.Classify(err).Class != mapping.Malformed || w.Body.Len() > 0 {
				t.Errorf("%v, %q", err, w.Body)
			}
		})
	}
}

// The page's origin was checked before. It expects one of its offered subprotocols.
func TestASocketOfAPage(t *testing.T) {
	t.Parallel()
	conn, _, err := websocket.Dial(patiently(t), serve(t, newWorld().server(), Snake), &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"https://page.example"}}, Subprotocols: []string{"other", "apbridge"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if conn.Subprotocol() != "apbridge" {
		t.Errorf("%q was chosen", conn.Subprotocol())
	}
}

// counted signals when a message's memory is released.
type counted chan struct{}

func (c counted) Count(_ context.Context, r io.Reader) io.ReadCloser { return given{r, c} }
func (counted) Request(context.Context) error                        { return nil }
func (counted) Exhausted() error                                     { return nil }

type given struct {
	io.Reader
	back chan struct{}
}

func (g given) Close() error {
	g.back <- struct{}{}
	return nil
}

func TestASocketReleasesTheMemoryOfItsMessages(t *testing.T) {
	t.Parallel()
	back := make(counted, 2)
	c := tightly(t, back)
	c.say(`{"id":1,"method":"state.get"}`)
	c.wants(`"type":"success"`)
	select {
	case <-back:
	case <-patiently(t).Done():
		t.Error("the memory was not released")
	}
}

// attended serves a socket in a handler of the test. It returns the client's end and a channel for the result of the
// handler, which is nil or the value of a panic.
func attended(t *testing.T, s *Server) (*wire, <-chan any) {
	t.Helper()
	ended := make(chan any, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- recover() }()
		_ = s.ServeSocket(w, r, uuid(1), Snake)
	}))
	t.Cleanup(srv.Close)
	return dial(t, srv.URL), ended
}

// A client that does not answer pings is disconnected, even if nothing is sent to it.
func TestASilentSocketIsDisconnected(t *testing.T) {
	t.Parallel()
	s := newWorld().server()
	s.Heartbeat, s.patience = 10*time.Millisecond, 10*time.Millisecond
	_, ended := attended(t, s) // the library only answers pings during a read
	select {
	case <-ended:
	case <-patiently(t).Done():
		t.Error("it is served still")
	}
}

// A panic of a command is passed on to the request, so that the server can log it.
func TestAPanicOfACommandIsTheRequests(t *testing.T) {
	t.Parallel()
	s := newWorld().server()
	s.Start = func(context.Context, Start) (*adapter.Started, error) { panic("oh") }
	c, ended := attended(t, s)
	c.say(`{"id":1,"method":"run.start","params":{"assistant_id":"a"}}`)
	select {
	case p := <-ended:
		if p != "oh" {
			t.Errorf("%v", p)
		}
	case <-patiently(t).Done():
		t.Error("it is served still")
	}
}

// lingering is a log whose readers only return when they are released.
type lingering struct {
	*world
	entered, left chan struct{}
	leave         chan struct{}
}

func (l lingering) AwaitThread(ctx context.Context, _ string) error {
	l.entered <- struct{}{}
	<-ctx.Done()
	l.left <- struct{}{}
	<-l.leave
	return ctx.Err()
}

// linger serves a socket over such a log, with one subscription, and returns its id.
func linger(t *testing.T) (log lingering, c *wire, id string, ended <-chan any) {
	t.Helper()
	w := newWorld()
	s := w.server()
	log = lingering{w, make(chan struct{}, 2), make(chan struct{}, 2), make(chan struct{})}
	s.Service = log
	c, ended = attended(t, s)
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
	id = rawjson.GetText(member(raw(c.wants(`"type":"success"`)), "result"), "subscription_id")
	await(t, log.entered)
	return log, c, id, ended
}

func await(t *testing.T, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-patiently(t).Done():
		t.Fatal("timeout")
	}
}

// The handler of a socket returns after all its readers of the log.
func TestASocketLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for range 20 {
		log, c, _, ended := linger(t)
		_ = c.conn.CloseNow()
		await(t, log.left)
		select {
		case <-ended:
			t.Fatal("the socket has ended, but its log is still being read")
		default:
		}
		close(log.leave)
		<-ended
	}
}

// The log is read once for any number of subscriptions, and not at all without subscriptions.
func TestASocketReadsTheLogOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		log, c, first, _ := linger(t)
		c.say(`{"id":2,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
		await(t, log.left) // nothing is sent during the command
		select {
		case <-log.entered:
			t.Fatal("the log is read twice")
		default:
		}
		close(log.leave)
		second := rawjson.GetText(member(raw(c.wants(`"id":2`)), "result"), "subscription_id")
		await(t, log.entered)
		for _, id := range []string{first, second} {
			c.say(`{"id":3,"method":"subscription.unsubscribe","params":{"subscription_id":"` + id + `"}}`)
			c.wants(`"id":3,"result":{}`)
		}
		await(t, log.left)
	}
}

// An internal error is sent without its text, which is logged. A refusal is only sent to the client.
func TestInternalErrorsOfASocketAreLogged(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zap.DebugLevel)
	w := newWorld()
	s := w.server()
	s.Log = zap.New(core)
	c := dial(t, serve(t, s, Snake))
	for i, err := range []error{mapping.Errorf(mapping.Limited, mapping.CodeQueueFull, "The queue is full."), errors.New("the disk is on fire")} {
		w.mu.Lock()
		w.startErr = err
		w.mu.Unlock()
		c.say(`{"id":1,"method":"run.start","params":{"assistant_id":"a"}}`)
		if got := c.wants(`"error":"unknown_error"`); strings.Contains(got, "fire") {
			t.Error(got)
		}
		if logged.Len() != i {
			t.Errorf("after %v the log has %v", err, logged.All())
		}
	}
}

// An unreadable log closes the socket, and is logged.
func TestASocketThatCannotBeReadIsClosed(t *testing.T) {
	t.Parallel()
	for _, broken := range []error{errors.New("the disk is on fire"), mapping.Errorf(mapping.Unavailable, "overloaded", "Later.")} {
		core, logged := observer.New(zap.DebugLevel)
		w := newWorld()
		w.make("")
		s := w.server()
		s.Log = zap.New(core)
		c, ended := attended(t, s)
		c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
		c.wants(`"type":"success"`)
		w.mu.Lock()
		w.broken = broken
		w.ring()
		w.mu.Unlock()
		_, _, err := c.conn.Read(patiently(t))
		if got := websocket.CloseStatus(err); got != websocket.StatusInternalError || strings.Contains(err.Error(), "fire") {
			t.Errorf("%v: %v", broken, err)
		}
		if <-ended; logged.FilterMessage("stream interrupted").Len() != 1 {
			t.Errorf("%v: the log has %v", broken, logged.All())
		}
	}
}

// A command without the necessary right is refused with its id. A message that is not a command has no id.
func TestASocketChecksRights(t *testing.T) {
	t.Parallel()
	s := newWorld().server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := mapping.WithPrincipal(r.Context(), mapping.Principal{ID: "reader", Rights: []string{mapping.RightRead}})
		_ = s.ServeSocket(w, r.WithContext(ctx), uuid(1), Snake)
	}))
	t.Cleanup(srv.Close)
	c := dial(t, srv.URL)
	c.say(`{"id":8,"method":"run.start","params":{"assistant_id":"a"}}`)
	c.wants(`"id":8,"error":"permission_denied"`)
}

// A connection that resumes nothing stays open without a subscription.
func TestReconnectWithoutSubscriptions(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	c := dial(t, serve(t, w.server(), Snake))
	c.say(`{"id":1,"method":"subscription.reconnect","params":{"run_id":"` + uuid(101) + `","subscriptions":[]}}`)
	c.wants(`"result":{"restored":false}`)
	w.mu.Lock()
	w.broken = errors.New("the disk is on fire") // not noticed, because nothing reads it
	w.mu.Unlock()
	c.say(`{nope`)
	c.wants(`"id":null`)
}

// A subscription of the same connection is not started twice.
func TestASubscriptionIsResumedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	c := dial(t, serve(t, w.server(), Snake))
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"]}}`)
	id := rawjson.GetText(member(raw(c.hear()), "result"), "subscription_id")
	c.wants(`:1.0"`)
	c.say(`{"id":2,"method":"subscription.reconnect","params":{"run_id":"` + uuid(101) + `","subscriptions":["` + id + `"]}}`)
	c.wants(`"result":{"restored":true}`)
	w.play(runOf(1, "graph"), succeeded())
	c.wants(`:2.0"`)
}

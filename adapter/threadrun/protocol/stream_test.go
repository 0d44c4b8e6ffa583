package protocol

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// patience bounds the waits of tests.
const patience = time.Minute

// serve serves the protocol for one thread: POST for streams, GET for the WebSocket.
func serve(t *testing.T, s *Server, spelling Spelling) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_ = s.ServeSocket(w, r, uuid(1), spelling)
			return
		}
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		if err := s.ServeEvents(w, r, uuid(1), spelling, body); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, end := context.WithTimeout(context.Background(), patience)
	t.Cleanup(end)
	return ctx
}

// listen opens a stream of events.
func listen(t *testing.T, url, filter string) *sse.Reader {
	t.Helper()
	res := post(t, url, filter, nil)
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	return sse.NewReader(res.Body, 0)
}

// post requests a stream of events.
func post(t *testing.T, url, filter string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(patiently(t), http.MethodPost, url, strings.NewReader(filter))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// positionOf returns an event's id without its run.
func positionOf(id string) string { return id[strings.LastIndex(id, ":")+1:] }

// heard reads n events and describes each: its method, its position, and the data of a lifecycle.
func heard(t *testing.T, r *sse.Reader, n int) (list []string) {
	t.Helper()
	for range n {
		ev, err := r.Next()
		if err != nil {
			t.Fatal(list, err)
		}
		list = append(list, ev.Name+" "+positionOf(ev.ID)+" "+rawjson.GetText(member(member(ev.Data, "params"), "data"), "event"))
	}
	return list
}

// A stream that was opened before its thread exists continues across runs.
func TestAStreamWaitsForItsThreadAndOutlivesRuns(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.make("")
	r := listen(t, serve(t, w.server(), Snake), `{"channels":["lifecycle"]}`)
	w.make(uuid(1))
	w.play(runOf(1, "graph"), started(), succeeded())
	if d := cmp.Diff([]string{"lifecycle 1.0 running", "lifecycle 2.0 completed"}, heard(t, r, 2)); d != "" {
		t.Error(d)
	}
	w.play(runOf(2, "graph"), started())
	if d := cmp.Diff([]string{"lifecycle 3.0 running"}, heard(t, r, 1)); d != "" {
		t.Error(d)
	}
}

// A stream ends when its thread is deleted, because a later thread with that id is a different one.
func TestAStreamEndsWithItsThread(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	r := listen(t, serve(t, w.server(), Snake), `{"channels":["lifecycle"]}`)
	heard(t, r, 1)
	w.mu.Lock()
	w.thread = ""
	w.ring()
	w.mu.Unlock()
	if ev, err := r.Next(); err != io.EOF {
		t.Errorf("%+v, %v", ev, err)
	}
}

// A broken stream does not look like a complete one.
func TestAnUnreadableStreamIsInterrupted(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zap.DebugLevel)
	w := newWorld()
	w.broken = errors.New("the disk is on fire")
	s := w.server()
	s.Log = zap.New(core)
	r := listen(t, serve(t, s, Snake), `{"channels":["lifecycle"]}`)
	if ev, err := r.Next(); err == nil || err == io.EOF {
		t.Errorf("%+v, %v", ev, err)
	}
	if logged.FilterMessage("stream interrupted").Len() != 1 {
		t.Errorf("the log has %v", logged.All())
	}
}

func TestAStreamOnlyHasRequestedEvents(t *testing.T) {
	t.Parallel()
	r := listen(t, serve(t, newWorld().play(runOf(1, "legacy"), twoSteps()...).server(), Snake), `{"channels":["lifecycle"]}`)
	if d := cmp.Diff([]string{"lifecycle 1.0 running", "lifecycle 5.0 completed"}, heard(t, r, 2)); d != "" {
		t.Error(d)
	}
}

// wire is the client's end of a WebSocket.
type wire struct {
	t    *testing.T
	conn *websocket.Conn
}

func dial(t *testing.T, url string) *wire {
	t.Helper()
	conn, _, err := websocket.Dial(patiently(t), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &wire{t, conn}
}

func (w *wire) say(message string) {
	w.t.Helper()
	if err := w.conn.Write(patiently(w.t), websocket.MessageText, []byte(message)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) hear() string {
	w.t.Helper()
	_, b, err := w.conn.Read(patiently(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// wants reads one message, which must contain text.
func (w *wire) wants(text string) string {
	w.t.Helper()
	got := w.hear()
	if !strings.Contains(got, text) {
		w.t.Fatalf("%s is not in %s", text, got)
	}
	return got
}

func TestASocket(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.make("")
	c := dial(t, serve(t, w.server(), Snake))
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"]}}`)
	c.wants(`{"type":"success","id":1,"result":{"subscription_id":"`)
	c.say(`{"id":2,"method":"run.start","params":{"assistant_id":"a","input":1}}`)
	c.wants(`{"type":"success","id":2,"result":{"run_id":"`)
	w.play(runOf(1, "graph"), started())
	c.wants(`:1.0","seq":1048576,"method":"lifecycle"`)

	c.say(`{"id":3,"method":"subscription.subscribe","params":{"channels":["values","lifecycle"]}}`)
	id := rawjson.GetText(member(raw(c.wants(`"id":3`)), "result"), "subscription_id")
	c.wants(`:1.0"`) // from the start again
	c.say(`{"id":4,"method":"subscription.unsubscribe","params":{"subscription_id":"` + id + `"}}`)
	c.wants(`{"type":"success","id":4,"result":{},`)
	c.say(`{"id":5,"method":"subscription.unsubscribe","params":{"subscription_id":"` + id + `"}}`)
	c.wants(`"error":"no_such_subscription"`)

	w.play(runOf(1, "graph"), succeeded())
	c.wants(`:2.0"`)
	for bad, want := range map[string]string{
		`{nope`: `{"type":"error","id":null,"error":"invalid_argument"`,
		`{}`:    `{"type":"error","id":null,"error":"invalid_argument"`,
		`{"id":6,"method":"subscription.subscribe","params":{"channels":["x"]}}`:                      `"id":6,"error":"invalid_argument"`,
		`{"id":6,"method":"subscription.subscribe","params":{"channels":["values"],"since":3145728}}`: `"id":6,"error":"invalid_argument"`,
		`{"id":6,"method":"subscription.subscribe","params":{"channels":["values"],"deph":1}}`:        `"id":6,"error":"invalid_argument","message":"deph is not a param of subscription.subscribe. Did you mean depth?"`,
		`{"id":6,"method":"subscription.subscribe","params":{"channels":["values"],"namespace":[]}}`:  `Did you mean namespaces?"`,
		`{"id":6,"method":"subscription.unsubscribe"}`:                                                `"id":6,"error":"invalid_argument"`,
		`{"id":6,"method":"foo"}`: `"id":6,"error":"unknown_command"`,
	} {
		c.say(bad)
		c.wants(want)
	}
}

// TestARefusalOverASocketHasTheCommandsId checks that refusals have the id of the command, because SDKs wait for it
// forever.
func TestARefusalOverASocketHasTheCommandsId(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, newWorld().server(), Snake))
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for command, want := range map[string]string{
		`{"id":7}`:            `{"type":"error","id":7,"error":"invalid_argument"`,
		`{"id":7,"method":1}`: `{"type":"error","id":7,`,
		`{"id":7,"method":"state.get","params":[]}`:                                        `{"type":"error","id":7,`,
		`{"id":7,"method":"state.get","params":{"keys":[],"keys":[]}}`:                     `{"type":"error","id":7,`,
		`{"id":7,"method":"run.start","params":{"assistant_id":"a","input":` + deep + `}}`: `{"type":"error","id":7,`,
		`{"id":"seven","method":"state.get"}`:                                              `{"type":"error","id":null,`,
		`{"id":7,"method":"state.get"`:                                                     `{"type":"error","id":null,`,
		`[{"id":7,"method":"state.get"}]`:                                                  `{"type":"error","id":null,`,
	} {
		c.say(command)
		c.wants(want)
	}
}

// TestAFilterIsNotMisspelt checks that a misspelt filter is refused, because the stream would contain everything.
func TestAFilterIsNotMisspelt(t *testing.T) {
	t.Parallel()
	s := newWorld().server()
	for filter, want := range map[string]string{
		`{"channels":["values"],"sinceEventID":"1.0"}`: "Did you mean since_event_id?",
		`{"channels":["values"],"namespace":[[]]}`:     "Did you mean namespaces?",
		`{"channels":["values"],"Depth":1}`:            "Did you mean depth?",
		`{"channels":["values"],"sinse":1}`:            "Did you mean since?",
		`{"channels":["values"],"colour":1}`:           "",
	} {
		_, err := s.wanted(http.Header{}, httptest.NewRequest(http.MethodPost, "/", nil), uuid(1), raw(filter))
		if got := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", filter, got)
		}
	}
}

// TestIgnoredMembersAreNamed checks that unknown members, which the CDDL allows, are reported as ignored.
func TestIgnoredMembersAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "legacy"), twoSteps()...)
	url := serve(t, w.server(), Snake)
	res := post(t, url, `{"channels":["values"],"colour":1,"sinceEventId":"1.0","shape":2}`, nil)
	if got := res.Header.Get("X-Apbridge-Ignored"); res.StatusCode != http.StatusOK || got != "colour, shape" {
		t.Errorf("a stream: %s, %q", res.Status, got)
	}
	const tree = `{"id":1,"method":"agent.getTree","extra":1,"params":{"run_id":"`
	reply, err := w.server().Command(t.Context(), uuid(1), http.Header{}, raw(tree+runOf(1, "").ID+`","colour":1}}`))
	if err != nil || reply.Ignored != "extra, params.colour" || !strings.Contains(string(reply.Body), `"ignored":"extra, params.colour"`) {
		t.Errorf("a command: %v, %q, %s", err, reply.Ignored, reply.Body)
	}
	c := dial(t, url)
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"],"colour":1}}`)
	c.wants(`"ignored":"params.colour"`)
	if reply, err := w.server().Command(t.Context(), uuid(1), http.Header{}, raw(`{"id":1,"method":"run.start","prams":{"assistant_id":"a"}}`)); err == nil {
		t.Errorf("a command without its params was executed: %s", reply.Body)
	}
}

// TestASubscriptionIsKnownBeforeItsEvents checks the order of reply and events, because SDKs drop events of an unknown
// subscription.
func TestASubscriptionIsKnownBeforeItsEvents(t *testing.T) {
	t.Parallel()
	url := serve(t, newWorld().play(runOf(1, "legacy"), twoSteps()...).server(), Snake)
	for range 60 {
		c := dial(t, url)
		c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"],"since":0}}`)
		if first := c.hear(); !strings.Contains(first, `"subscription_id"`) {
			t.Fatalf("the first message is %s", first)
		}
		c.wants(`:1.0"`)
		_ = c.conn.CloseNow()
	}
}

// After a broken connection, the next one continues after the last event that the client received.
func TestAnotherSocketResumesSubscriptions(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "legacy"), twoSteps()...)
	url := serve(t, w.server(), Camel)
	first := dial(t, url)
	first.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle","checkpoints"],"since":0}}`)
	id := rawjson.GetText(member(raw(first.hear()), "result"), "subscriptionId")
	first.wants(`:1.0"`)
	_ = first.conn.CloseNow()

	next := dial(t, url)
	next.say(`{"id":1,"method":"subscription.reconnect","params":{"runId":"` + uuid(101) + `","lastEventId":"1.0","subscriptions":["` + id + `"]}}`)
	next.wants(`"result":{"restored":true}`)
	next.wants(`"eventId":"2.0","seq":2097152,"method":"checkpoints"`)
	made := subscriptionID(filter{channels: channels, namespaces: make([][]string, mostFiltered+1)}) // by a client
	for bad, want := range map[string]string{
		`{"runId":"` + uuid(9) + `"}`: errRun,
		`{"runId":"x"}`:               errRun,
		`{}`:                          errInvalid,
		`{"runId":"` + uuid(101) + `","lastEventId":"x"}`:    errInvalid,
		`{"runId":"` + uuid(101) + `","lastEventId":"6.0"}`:  errInvalid,
		`{"runId":"` + uuid(101) + `","lastEventId":"-1.0"}`: errInvalid,
		`{"runId":"` + uuid(101) + `","lastEventId":"1.-1"}`: errInvalid,
		`{"runId":"` + uuid(101) + `","subscriptions":"x"}`:  errInvalid,
		`{"runId":"` + uuid(101) + `","subscriptions":[` + strings.TrimSuffix(strings.Repeat(`"`+id+`",`, mostSubscriptions+1), ",") + `]}`: errInvalid,
		`{"runId":"` + uuid(101) + `","subscriptions":["` + subscriptionID(filter{}) + `"]}`:                                                errSubscription,
		`{"runId":"` + uuid(101) + `","subscriptions":["nobody"]}`:                                                                          errSubscription,
		`{"runId":"` + uuid(101) + `","subscriptions":["` + made + `"]}`:                                                                    errSubscription,
		`{"runId":"` + uuid(101) + `","subscriptions":[1]}`:                                                                                 errInvalid,
	} {
		c := dial(t, url)
		c.say(`{"id":2,"method":"subscription.reconnect","params":` + bad + `}`)
		c.wants(`"error":"` + want + `"`)
	}
}

// An entry with thousands of events is sent completely, each event once, to an existing subscription and to a later
// one.
func TestASocketSendsALongEntryWhole(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started(), longEntry(3000))
	c := dial(t, serve(t, w.server(), Snake))
	c.conn.SetReadLimit(1 << 20)
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["updates","lifecycle"]}}`)
	c.wants(`"subscription_id"`)
	c.wants(`"running"`)
	c.wants(`"method":"updates"`)
	c.say(`{"id":2,"method":"subscription.subscribe","params":{"channels":["custom"]}}`)
	c.wants(`"subscription_id"`)
	w.play(runOf(1, "graph"), succeeded())
	c.wants(`"completed"`)
}

func TestTheSubscriptionsOfASocketAreLimited(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, newWorld().server(), Snake))
	for range mostSubscriptions {
		c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
		c.wants(`"type":"success"`)
	}
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`)
	c.wants(`"error":"invalid_argument"`)
}

func TestAMessageThatIsTooLongEndsTheSocket(t *testing.T) {
	t.Parallel()
	s := newWorld().server()
	s.Message = 100
	c := dial(t, serve(t, s, Snake))
	c.say(`{"id":1,"method":"` + strings.Repeat("x", 200) + `"}`)
	_, _, err := c.conn.Read(patiently(t))
	if got := websocket.CloseStatus(err); got != websocket.StatusMessageTooBig {
		t.Errorf("%v", err)
	}
}

// tight is a limiter that refuses messages, requests or new work.
type tight struct{ messages, rate, work error }

func (o tight) Count(_ context.Context, r io.Reader) io.ReadCloser {
	if o.messages == nil {
		return io.NopCloser(r)
	}
	return io.NopCloser(io.MultiReader(io.LimitReader(r, 4), iotest.ErrReader(o.messages)))
}

func (o tight) Request(context.Context) error { return o.rate }

func (o tight) Exhausted() error { return o.work }

// tightly serves sockets that share a memory budget.
func tightly(t *testing.T, room adapter.MemoryBudget) *wire {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = newWorld().server().ServeSocket(w, r.WithContext(adapter.WithMemoryBudget(r.Context(), room)), uuid(1), Snake)
	}))
	t.Cleanup(srv.Close)
	return dial(t, srv.URL)
}

// TestAMessageThatThereIsNoRoomForEndsTheSocket checks that WebSocket messages count towards the memory of request bodies
// (D5).
func TestAMessageThatThereIsNoRoomForEndsTheSocket(t *testing.T) {
	t.Parallel()
	full := mapping.Errorf(mapping.Unavailable, "overloaded", "There is no room.")
	c := tightly(t, tight{messages: full})
	c.say(`{"id":1,"method":"state.get"}`)
	_, _, err := c.conn.Read(patiently(t))
	if got := websocket.CloseStatus(err); got != websocket.StatusTryAgainLater {
		t.Errorf("%v", err)
	}
}

// A command that exceeds the rate of its key is refused with its id, and the socket stays open.
func TestASocketRefusesCommandsOverTheRate(t *testing.T) {
	t.Parallel()
	c := tightly(t, tight{rate: mapping.Errorf(mapping.Limited, "limit_requests", "Too many.")})
	for range 2 {
		c.say(`{"id":7,"method":"state.get"}`)
		c.wants(`{"type":"error","id":7,"error":"unknown_error","message":"Too many."}`)
	}
}

// TestASocketTakesNoWorkNearTheMemoryLimit checks that a WebSocket refuses new work near the memory limit and stays
// open (D5).
func TestASocketTakesNoWorkNearTheMemoryLimit(t *testing.T) {
	t.Parallel()
	c := tightly(t, tight{work: mapping.Errorf(mapping.Unavailable, "overloaded", "There is no memory.")})
	c.say(`{"id":1,"method":"run.start","params":{"assistant_id":"a"}}`)
	c.wants(`{"type":"error","id":1,"error":"unknown_error","message":"There is no memory."}`)
	c.say(`{"id":2,"method":"state.get"}`)
	c.wants(`"type":"success"`)
}

// The memory of an unfinished message is released, even if pings still arrive between its fragments. A socket without a
// message stays open.
func TestAnUnfinishedMessageEndsTheSocket(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		begun string
		more  string // sent repeatedly
	}{
		"a frame that is cut short":       {begun: "\x81\xfe\x10\x00\x00\x00\x00\x00{"},
		"a fragment without the next":     {begun: "\x01\x81\x00\x00\x00\x00{"},
		"pings in position of the others": {begun: "\x01\x81\x00\x00\x00\x00{", more: "\x89\x80\x00\x00\x00\x00"},
		"empty fragments":                 {begun: "\x01\x81\x00\x00\x00\x00{", more: "\x00\x80\x00\x00\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			back := make(counted, 2)
			s := newWorld().server()
			s.piecePatience = 50 * time.Millisecond
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = s.ServeSocket(w, r.WithContext(adapter.WithMemoryBudget(r.Context(), back)), uuid(1), Snake)
			}))
			t.Cleanup(srv.Close)
			idle := dial(t, srv.URL)
			conn, in := rawDial(t, srv.URL)
			fmt.Fprint(conn, tt.begun)
			if tt.more != "" {
				go func() {
					tick := time.NewTicker(10 * time.Millisecond)
					defer tick.Stop()
					for _, err := fmt.Fprint(conn, tt.more); err == nil; _, err = fmt.Fprint(conn, tt.more) {
						<-tick.C
					}
				}()
			}
			if said, _ := io.ReadAll(in); !strings.Contains(string(said), "\x03\xf0The rest of the message") { // 1008
				t.Errorf("%.200q", said)
			}
			await(t, back)
			idle.say(`{"id":1,"method":"state.get"}`)
			idle.wants(`"type":"success"`)
		})
	}
}

// A slow message is read while it arrives.
func TestASlowMessageIsRead(t *testing.T) {
	t.Parallel()
	s := newWorld().server()
	s.piecePatience = patience
	conn, in := rawDial(t, serve(t, s, Snake))
	command := `{"id":1,"method":"state.get"}`
	_, _ = conn.Write([]byte{0x81, 0x80 | byte(len(command)), 0, 0, 0, 0})
	for _, piece := range []byte(command) {
		_, _ = conn.Write([]byte{piece})
	}
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil || head[0] != 0x81 {
		t.Errorf("%x, %v", head, err)
	}
}

// A binary or invalid frame ends the socket, usually with a reason.
func TestASocketRefusesOtherFrames(t *testing.T) {
	t.Parallel()
	url := serve(t, newWorld().server(), Snake)
	c := dial(t, url)
	if err := c.conn.Write(patiently(t), websocket.MessageBinary, []byte(`{"id":1,"method":"state.get"}`)); err != nil {
		t.Fatal(err)
	}
	_, _, err := c.conn.Read(patiently(t))
	if got := websocket.CloseStatus(err); got != websocket.StatusUnsupportedData {
		t.Errorf("%v", err)
	}
	for name, frame := range map[string]string{
		"not masked": "\x81\x02{}", "reserved bit": "\xf1\x80\x00\x00\x00\x00", "unknown opcode": "\x83\x80\x00\x00\x00\x00",
		"long ping": "\x89\xfe\x01\x00\x00\x00\x00\x00" + strings.Repeat("x", 256), "continues nothing": "\x80\x80\x00\x00\x00\x00",
		"broken off": "\x81\xfe\x01\x00\x00\x00\x00\x00x",
	} {
		said := rawSocket(t, url, frame)
		if name != "not masked" && name != "broken off" && !strings.Contains(said, "\x03\xea") { // 1002, protocol error
			t.Errorf("%s: %q", name, said)
		}
	}
}

// rawSocket sends raw bytes and returns all received bytes.
func rawSocket(t *testing.T, url, frame string) string {
	t.Helper()
	conn, in := rawDial(t, url)
	fmt.Fprint(conn, frame)
	_ = conn.CloseWrite()
	said, _ := io.ReadAll(in)
	return string(said)
}

// rawDial performs a WebSocket handshake and returns the connection.
func rawDial(t *testing.T, url string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	in := bufio.NewReader(conn)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\n\r\n")
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res, err)
	}
	return conn.(*net.TCPConn), in
}

// A socket is closed when its thread is deleted, with a code that SDKs treat as final.
func TestASocketEndsWithItsThread(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	c := dial(t, serve(t, w.server(), Snake))
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"]}}`)
	c.hear()
	c.hear()
	w.mu.Lock()
	w.thread = ""
	w.ring()
	w.mu.Unlock()
	_, _, err := c.conn.Read(patiently(t))
	if got := websocket.CloseStatus(err); got != closedFor+http.StatusNotFound {
		t.Errorf("%v", err)
	}
}

// Failures of the bridge are reported, and the socket stays open.
func TestASocketSurvivesAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.startErr = mapping.Errorf(mapping.Limited, mapping.CodeQueueFull, "The queue is full.")
	c := dial(t, serve(t, w.server(), Snake))
	c.say(`{"id":1,"method":"run.start","params":{"assistant_id":"a"}}`)
	c.wants(`{"type":"error","id":1,"error":"unknown_error","message":"The queue is full."}`)
	c.say(`{"id":2,"method":"state.get"}`)
	c.wants(`"type":"success"`)
}

// A client that has disappeared silently is detected because it does not answer pings.
func TestASocketSendsPings(t *testing.T) {
	t.Parallel()
	s := newWorld().server()
	s.Heartbeat = 10 * time.Millisecond
	asked := make(chan struct{}, 100)
	conn, _, err := websocket.Dial(patiently(t), serve(t, s, Snake), &websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool {
		asked <- struct{}{}
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	conn.CloseRead(patiently(t))
	for range 3 {
		<-asked
	}
}

// A client that never reads is disconnected, and its connection is released. That is not logged as a failure.
func TestAClientThatNeverReadsIsDisconnected(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	long := raw(`"` + strings.Repeat("x", 1<<20) + `"`)
	for range 64 { // more than fits into the system's buffers
		w.play(runOf(1, "graph"), mapping.Event{Kind: mapping.KindCustom, Data: long})
	}
	s := w.server()
	core, logged := observer.New(zap.DebugLevel)
	s.patience, s.Log = 50*time.Millisecond, zap.New(core)
	ended := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = s.ServeSocket(w, r, uuid(1), Snake)
		close(ended)
	}))
	t.Cleanup(srv.Close)
	c := dial(t, srv.URL)
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["custom"]}}`)
	select {
	case <-ended:
		if logged.Len() > 0 {
			t.Errorf("the log has %v", logged.All())
		}
	case <-patiently(t).Done():
		t.Error("it is served still")
	}
}

// All subscriptions of a connection receive events in the order of the log, except for the replay of a new
// subscription.
func TestEventsOfASocketAreInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := dial(t, serve(t, w.server(), Snake))
	for range 3 {
		c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle","custom"]}}`)
		c.wants(`"type":"success"`)
	}
	const runs = 50
	go func() {
		for i := range runs {
			w.play(runOf(i, "graph"), started(), mapping.Event{Kind: mapping.KindCustom, Data: raw(`1`)}, succeeded())
		}
	}()
	last := int64(0)
	for range 3 * runs {
		n, _ := whole(member(raw(c.hear()), "seq"))
		if n <= last {
			t.Fatalf("%d comes after %d", n, last)
		}
		last = n
	}
}

package protocol

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// longThread has consecutive and concurrent runs, an update between runs, and a run that is still active.
func longThread() *world {
	w := newWorld()
	for n := range 12 {
		w.play(runOf(3*n+1, "legacy"), twoSteps()...)
		events := graphRun()
		w.play(runOf(3*n+2, "graph"), events[:9]...)
		w.play(runOf(3*n+3, "graph"), retried()[:2]...)
		w.play(runOf(3*n+2, "graph"), events[9:]...)
		w.play(mapping.Run{}, restarted(n))
		w.play(runOf(3*n+3, "graph"), retried()[2:]...)
	}
	return w.play(runOf(99, "graph"), graphRun()[:12]...)
}

// restarted is a checkpoint of an agent that restarted its count. It is emitted with a step after its parent's.
func restarted(n int) mapping.Event {
	return stateEvent("", &mapping.Checkpoint{ID: uuid(500 + n), Parent: uuid(500 + n - 1), Source: "update"}, `{"messages":[]}`)
}

// A reader from any position receives the same ids, steps, namespaces and blocks as a reader from the start. It only
// reads the runs that are active at its position.
func TestALateReaderReceivesTheSame(t *testing.T) {
	t.Parallel()
	w := longThread()
	all := filter{channels: channels, depth: -1}
	whole := bytes.SplitAfter(told(t, w, all, Snake), []byte("\n"))
	total := w.read
	if total != len(w.entries) {
		t.Fatalf("%d of %d entries were read from the start", total, len(w.entries))
	}
	for i := 0; i < len(whole)-1; i += 7 {
		late := all
		late.since = seqOf(t, whole[i])
		w.read = 0
		if d := cmp.Diff(string(bytes.Join(whole[i+1:], nil)), string(told(t, w, late, Snake))); d != "" {
			t.Fatalf("since %d: %s", late.since, d)
		}
		if most := len(w.entries) - int(late.since/framesPerEntry) + len(graphRun()) + len(retried()) + 2; w.read > most {
			t.Errorf("since %d: %d entries were read, want at most %d", late.since, w.read, most)
		}
	}
}

// heardID returns the id of an event in the form of heard.
func heardID(event string) string { return strings.Fields(event)[1] }

// numberOf returns the number of the event with an id.
func numberOf(t *testing.T, id string) int64 {
	t.Helper()
	n, ok := eventNumber(id)
	if !ok {
		t.Fatalf("%q is no id", id)
	}
	return n
}

func seqOf(t *testing.T, event []byte) int64 {
	t.Helper()
	p, err := parse(bytes.TrimSpace(event), 0)
	if err != nil {
		t.Fatal(err)
	}
	seq, ok := whole(p.get("seq"))
	if !ok {
		t.Fatalf("%s has no number", event)
	}
	return seq
}

// If all subscriptions of a socket have positions, the log is read from the first position: once to count the replay
// and once to send it.
func TestALateSocketReadsWhatIsNew(t *testing.T) {
	t.Parallel()
	w := longThread()
	last := int64(len(w.entries))
	c := dial(t, serve(t, w.server(), Snake))
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle"],"since":` + strconv.FormatInt(last*framesPerEntry, 10) + `}}`)
	c.wants(`"subscription_id"`)
	w.play(runOf(99, "graph"), graphRun()[12:]...)
	c.wants(`"completed"`)
	w.mu.Lock()
	defer w.mu.Unlock()
	if most := 2 * len(graphRun()); w.read > most {
		t.Errorf("%d entries were read, want at most %d", w.read, most)
	}
}

// A client can send its position in three ways. The latest one counts, because clients that repeat a request add the
// header to the original body.
func TestAStreamContinuesAfterTheLastEvent(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "legacy"), twoSteps()...)
	url := serve(t, w.server(), Snake)
	whole := heard(t, listen(t, url, `{"channels":["values","lifecycle"]}`), 3)
	first, second := heardID(whole[0]), heardID(whole[1])
	for _, tt := range []struct {
		name, filter, last string
		want               int
	}{
		{"snake case", `,"since_event_id":"` + second + `"`, "", 2},
		{"camel case", `,"sinceEventId":"` + second + `"`, "", 2},
		{"null", `,"since_event_id":null`, "", 0},
		{"the header", ``, second, 2},
		{"the start", ``, "-1", 0},
		{"the header is later", `,"since_event_id":"` + first + `"`, second, 2},
		{"the body is later", `,"since_event_id":"` + second + `"`, first, 2},
		{"the start in the header", `,"since_event_id":"` + second + `"`, "-1", 2},
		{"since is later", `,"since_event_id":"` + first + `","since":` + strconv.FormatInt(numberOf(t, second), 10), "", 2},
	} {
		header := http.Header{}
		if tt.last != "" {
			header.Set("Last-Event-ID", tt.last)
		}
		res := post(t, url, `{"channels":["values","lifecycle"]`+tt.filter+`}`, header)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", tt.name, res.Status)
			continue
		}
		if d := cmp.Diff(whole[tt.want:tt.want+1], heard(t, sse.NewReader(res.Body, 0), 1)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	for _, tt := range []struct{ filter, last, want string }{
		{`,"since_event_id":"x"`, "", "since_event_id must be the id of an event"},
		{`,"since_event_id":5`, "", "since_event_id must be a non-empty string"},
		{`,"since_event_id":"999.0"`, "", "is beyond"},
		{``, "x", "Last-Event-ID must be the id of an event"},
		{``, "999.0", "is beyond"},
	} {
		res := post(t, url, `{"channels":["values"]`+tt.filter+`}`, http.Header{"Last-Event-Id": {tt.last}})
		body, _ := io.ReadAll(res.Body)
		if res.StatusCode == http.StatusOK || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s %s: %s %s", tt.filter, tt.last, res.Status, body)
		}
	}
	c := dial(t, url)
	c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values","lifecycle"],"since_event_id":"` + second + `"}}`)
	c.wants(`"subscription_id"`)
	if got := c.hear(); !strings.Contains(got, `"event_id":"`+heardID(whole[2])+`"`) {
		t.Errorf("a subscription begins with %s", got)
	}
}

// A position after which events were deleted is refused, however it is sent.
func TestAPositionThatIsNotKeptIsRefused(t *testing.T) {
	t.Parallel()
	w := longThread()
	w.kept = 20
	gone := strconv.Itoa(10*framesPerEntry + 1)
	url := serve(t, w.server(), Snake)
	res, err := http.Post(url, "application/json", strings.NewReader(`{"channels":["values"],"since":`+gone+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		t.Error("a stream was begun")
	}
	c := dial(t, url)
	for _, command := range []string{
		`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"],"since":` + gone + `}}`,
		`{"id":1,"method":"subscription.reconnect","params":{"run_id":"` + runOf(1, "").ID + `","last_event_id":"10.1","subscriptions":[]}}`,
	} {
		c.say(command)
		if got := c.hear(); !strings.Contains(got, `"error":"invalid_argument"`) || !strings.Contains(got, "Omit it") {
			t.Errorf("%s: %s", command, got)
		}
	}
	heard(t, listen(t, url, `{"channels":["values"]}`), 1)
}

// A position in the future is refused, even on a thread that does not exist yet or has no events, because its reader
// would miss all events up to it.
func TestAPositionBeyondTheThreadIsRefused(t *testing.T) {
	t.Parallel()
	away := newWorld()
	away.make("")
	beyond := strconv.Itoa(2 * framesPerEntry)
	for name, w := range map[string]*world{"not there": away, "empty": newWorld(), "one run": newWorld().play(runOf(1, "graph"), started())} {
		s := w.server()
		if _, err := s.wanted(http.Header{}, httptest.NewRequest(http.MethodPost, "/", nil), uuid(1), raw(`{"channels":["values"],"since":`+beyond+`}`)); mapping.Classify(err).Code != mapping.CodeInvalidCursor {
			t.Errorf("%s, a stream: %v", name, err)
		}
		c := dial(t, serve(t, s, Snake))
		c.say(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"],"since":` + beyond + `}}`)
		c.wants(`"error":"invalid_argument"`)
	}
}

// Each of ten thousand events of one entry has its own stable number and id. A reader can continue after any of them,
// on a stream with since and on a WebSocket with either.
func TestAReaderContinuesWithinALongEntry(t *testing.T) {
	t.Parallel()
	const events = 10_000
	w := newWorld().play(runOf(1, "graph"), started(), longEntry(events/5), succeeded())
	all := filter{channels: channels, depth: -1}
	whole := bytes.SplitAfter(told(t, w, all, Snake), []byte("\n"))
	if len(whole) < events {
		t.Fatalf("%d events", len(whole))
	}
	seen := map[int64]bool{}
	for _, line := range whole[:len(whole)-1] {
		if n := seqOf(t, line); seen[n] || n > largest {
			t.Fatalf("%d is no number of its own: %s", n, line)
		} else {
			seen[n] = true
		}
	}
	for _, i := range []int{1, 4090, 4095, 4096, 4097, events / 2, events - 2} {
		late := all
		late.since = seqOf(t, whole[i])
		if d := cmp.Diff(string(bytes.Join(whole[i+1:], nil)), string(told(t, w, late, Snake))); d != "" {
			t.Errorf("since event %d: %s", i, d)
		}
	}
	middle := whole[events/2]
	for _, command := range []string{
		`{"id":1,"method":"subscription.subscribe","params":{"channels":["messages"],"since":` + strconv.FormatInt(seqOf(t, middle), 10) + `}}`,
		`{"id":1,"method":"subscription.reconnect","params":{"run_id":"` + uuid(101) + `","last_event_id":` + string(member(middle, "event_id")) +
			`,"subscriptions":["` + subscriptionID(filter{channels: []string{channelMessages}, depth: -1}) + `"]}}`,
	} {
		c := dial(t, serve(t, w.server(), Snake))
		c.say(command)
		c.wants(`"type":"success"`)
		c.wants(string(member(whole[events/2+1], "event_id")))
	}
}

// longEntry returns an update with the given number of messages. Each message becomes five events.
func longEntry(messages int) mapping.Event {
	said := make([]string, messages)
	for n := range said {
		said[n] = says(n, "x")
	}
	return mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"messages":[` + strings.Join(said, ",") + `]}`), Head: mapping.Head{Node: "plan"}}
}

// In an entry with even more events, the last ones share a number. A reader that has seen one of them receives them
// again.
func TestEventsThatShareANumberAreSentAgain(t *testing.T) {
	t.Parallel()
	f := filter{channels: channels, depth: -1}
	ev := &event{method: channelValues}
	for k, want := range map[int]bool{lastFrame - 1: false, lastFrame: true, lastFrame + 1: true, 2 * framesPerEntry: true} {
		at := position{seq: 7, k: k}
		f.since = position{seq: 7, k: lastFrame + 5}.number()
		if f.wants(ev, at) != want || at.number() > lastNumber(7)-1 {
			t.Errorf("event %d: sent again: %t; its number is %d", k, f.wants(ev, at), at.number())
		}
		if sub := (&subscription{got: at}); sub.behind() >= at.number() && want {
			t.Errorf("a subscription that has event %d has all up to %d", k, sub.behind())
		}
	}
}

// A sequence number is the position of an event after which a stream can continue. The number in a reply is the end of
// an entry.
func TestNumbersArePositions(t *testing.T) {
	t.Parallel()
	for since, want := range map[int64]adapter.Cursor{
		0: {K: -1, Start: true}, position{seq: 3, k: 5}.number(): {Seq: 3, K: 5}, lastNumber(3): {Seq: 3, K: -1}, 5: {K: -1},
	} {
		if got := cursorOf(since); got != want {
			t.Errorf("%d: %+v, want %+v", since, got, want)
		}
	}
}

// SDKs (from 1.15 on) take the run from the id of the root's lifecycle to stop it, even a run that answers a question.
// Every id is a position.
func TestALifecycleOfTheRootNamesItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), graphRun()...)
	for line := range bytes.Lines(told(t, w, all(), Snake)) {
		id := rawjson.GetText(line, "event_id")
		root := rawjson.GetText(line, "method") == channelLifecycle && string(member(member(line, "params"), "namespace")) == "[]"
		if named := strings.HasPrefix(id, "synth:"+uuid(101)+":"); named != root {
			t.Errorf("%s is the id of %s", id, line)
		}
		if n, ok := eventNumber(id); !ok || n != seqOf(t, line) {
			t.Errorf("%s is the position %d", id, n)
		}
	}
}

// Only a deleted position is reported as expired.
func TestAPositionThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	w.broken = errors.New("the disk is on fire")
	if err := w.server().checkSince(t.Context(), uuid(1), lastNumber(1), lastNumber(1)); !errors.Is(err, w.broken) {
		t.Error(err)
	}
}

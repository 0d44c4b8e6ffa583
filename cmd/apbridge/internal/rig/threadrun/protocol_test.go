package threadrun

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	neturl "net/url"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

// everything is a request for all events of a thread.
const everything = `{"channels":["values","updates","messages","tools","lifecycle","input","checkpoints","tasks","custom"]}`

// events reads a thread's events from the beginning, up to the nth for which ok is true.
func events(b *rig.Bridge, path, filter string, n int, ok func(rig.Frame) bool, headers ...string) (list []rig.Frame) {
	b.T.Helper()
	for {
		_, list = b.Stream("POST", path, filter, len(list)+1, headers...)
		if ok(list[len(list)-1]) {
			if n--; n == 0 {
				return list
			}
		}
	}
}

// runOver reports whether an event ends a run.
func runOver(f rig.Frame) bool {
	switch f.At("params.data.event") {
	case "completed", "failed", "interrupted":
		return f.Event == "lifecycle" && len(f.At("params.namespace").([]any)) == 0
	}
	return false
}

func command(b *rig.Bridge, thread, body string, headers ...string) rig.Answer {
	b.T.Helper()
	return b.Do("POST", thread+"/commands", body, headers...).OK()
}

func newThread() string { return "/threads/" + mapping.NewID() }

const starts = `{"id":1,"method":"run.start","params":{"assistant_id":"agent",` + rig.SaysHi + `}}`

// A run started by a command creates its thread, and its events have the order from which clients build their pages.
// Another reader gets the same events with the same ids, in either spelling.
func TestProtocolEventsOfARun(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]http.Handler{
		"task/step": adaptertest.NewStepAgent(adaptertest.Plain), "thread/run": &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{adaptertest.ChatPlay()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, agent)
			thread := newThread()
			got := command(b, thread, starts)
			if got.Text("type") != "success" || got.Text("result.run_id") == "" || got.At("meta.applied_through_seq") != float64(0) {
				t.Fatal(got)
			}
			if lost := got.Header.Get("X-Apbridge-Unsupported"); lost != "" {
				t.Errorf("unsupported fields of a run with an input: %s", lost)
			}
			b.Get(thread + "/runs/" + got.Text("result.run_id") + "/join").OK()
			seen := events(b, thread+"/stream/events", everything, 1, runOver)
			checkOrder(t, b, thread, seen)
			again := events(b, thread+"/stream/events", everything, 1, runOver)
			if d := cmp.Diff(seen, again); d != "" {
				t.Error(d)
			}
			const ofEarlierNumbers = `{"since":12289,` // entry 3 of a version that had 4096 numbers for each
			if d := cmp.Diff(seen, events(b, thread+"/stream/events", strings.Replace(everything, "{", ofEarlierNumbers, 1), 1, runOver)); d != "" {
				t.Errorf("events since a number before the first: %s", d)
			}
			camel := events(b, thread+"/stream", everything, 1, runOver)
			for i := range camel {
				if camel[i].ID != seen[i].ID || camel[i].At("eventId") != seen[i].ID || camel[i].At("event_id") != nil {
					t.Errorf("%v in camel case is %v", seen[i], camel[i])
				}
			}
		})
	}
}

func checkOrder(t *testing.T, b *rig.Bridge, thread string, seen []rig.Frame) {
	t.Helper()
	if seen[0].Event != "lifecycle" || seen[0].At("params.data.event") != "running" {
		t.Errorf("the first event is %v", seen[0])
	}
	last := -1.0
	var values, paired any
	for i, f := range seen {
		if n := f.At("seq").(float64); n <= last {
			t.Errorf("%v follows %v", f, last)
		} else {
			last = n
		}
		switch f.Event {
		case "values":
			values = f.At("params.data")
		case "checkpoints":
			if paired = f.At("params.data.id"); seen[i+1].Event != "values" {
				t.Errorf("%v is followed by %v", f, seen[i+1])
			}
		}
	}
	state := b.Get(thread + "/state").OK()
	if d := cmp.Diff(state.At("values"), values); d != "" {
		t.Errorf("the last values are not the state: %s", d)
	}
	if paired != state.Text("checkpoint.checkpoint_id") {
		t.Errorf("the last checkpoint is %v, want %s", paired, state.Text("checkpoint.checkpoint_id"))
	}
	said := map[any]bool{}
	for _, f := range seen {
		if f.At("params.data.event") == "message-start" {
			said[f.At("params.data.id")] = true
		}
	}
	for _, m := range state.List("values.messages") {
		if rig.Dig(m, "type") != "human" && !said[rig.Dig(m, "id")] {
			t.Errorf("there is no event of the message %v", m)
		}
	}
}

// A client may answer a question at once, and all readers see the answer.
func TestProtocolQuestionIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]http.Handler{
		"task/step": rig.Curious(1), "thread/run": rig.Asking(adaptertest.ChatPlay()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, agent)
			thread := newThread()
			command(b, thread, starts)
			asked := events(b, thread+"/stream/events", `{"channels":["input"]}`, 1, func(rig.Frame) bool { return true })[0]
			id, _ := asked.At("params.data.interrupt_id").(string)
			if asked.Event != "input.requested" || id == "" || asked.At("params.data.payload") == nil {
				t.Fatalf("%v", asked)
			}
			unknown := command(b, thread, `{"id":2,"method":"input.respond","params":{"namespace":[],"interrupt_id":"nobody","response":"blue"}}`)
			if unknown.Text("error") != "no_such_interrupt" {
				t.Error(unknown)
			}
			answer := command(b, thread, `{"id":3,"method":"input.respond","params":{"namespace":[],"interrupt_id":"`+id+`","response":"blue"}}`)
			if answer.Text("type") != "success" {
				t.Fatal(answer)
			}
			seen := events(b, thread+"/stream/events", `{"channels":["input","lifecycle"],"namespaces":[[]],"depth":0}`, 1, runOver)
			var names []string
			for _, f := range seen {
				names = append(names, f.Event)
			}
			// The end of the interrupted run is left out, because it ended before the stream began.
			if got := strings.Join(names, " "); got != "lifecycle input.requested lifecycle input.answered lifecycle" {
				t.Error(got)
			}
			if d := cmp.Diff([]any{id}, seen[3].At("params.data.interrupt_ids")); d != "" {
				t.Error(d)
			}
		})
	}
}

// A client of another tenant learns nothing about a thread from the responses to its commands.
func TestProtocolOfAnotherTenantsThread(t *testing.T) {
	t.Parallel()
	agent := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain))
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(agent.URL)})
	cfg.Auth.Keys = []config.Key{{ID: "a", Key: "key-of-a", Tenant: "a"}, {ID: "b", Key: "key-of-b", Tenant: "b"}}
	b := rig.StartBridge(t, cfg)
	thread, theirs := newThread(), []string{"X-Api-Key", "key-of-b"}
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	req, _ := http.NewRequestWithContext(ctx, "POST", b.URL+thread+"/stream/events", strings.NewReader(everything))
	req.Header.Set("X-Api-Key", "key-of-b")
	res, err := http.DefaultClient.Do(req) // before the thread exists
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	run := command(b, thread, starts, "X-Api-Key", "key-of-a").Text("result.run_id")
	b.Do("GET", thread+"/runs/"+run+"/join", "", "X-Api-Key", "key-of-a").OK()
	for _, method := range []string{`"state.get"`, `"agent.getTree"`, `"agent.getTree","params":{"run_id":"` + run + `"}`, `"state.fork","params":{"checkpoint_id":"` + rig.NoneID + `"}`} {
		if got := command(b, thread, `{"id":2,"method":`+method+`}`, theirs...); got.Text("error") != "no_such_run" || got.At("meta.applied_through_seq") != float64(0) {
			t.Errorf("%s: %s", method, got)
		}
	}
	b.Do("POST", thread+"/commands", starts).Is(401)
	events(b, thread+"/stream/events", everything, 1, runOver, "X-Api-Key", "key-of-a") // all events have been sent by now
	leave()
	if text, _ := io.ReadAll(res.Body); len(text) > 0 {
		t.Errorf("another tenant received %s", text)
	}
	// Ids belong to a tenant, so a run that another tenant starts is on a separate thread.
	if own := command(b, thread, starts, theirs...).Text("result.run_id"); b.Do("GET", thread+"/runs/"+own, "", "X-Api-Key", "key-of-a").Status != 404 {
		t.Error("a run of another tenant is on the thread")
	}
}

// A key that may not use a thread's agent learns nothing about the thread and changes nothing.
func TestProtocolOfAnotherAgentsThread(t *testing.T) {
	t.Parallel()
	agent := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain))
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(agent.URL), "other": rig.AgentAt(agent.URL)})
	cfg.Auth.Keys = []config.Key{{ID: "a", Key: "key-of-a", Tenant: "a"}, {ID: "b", Key: "key-of-b", Tenant: "a", Agents: []string{"other"}}}
	b := rig.StartBridge(t, cfg)
	thread, limited := newThread(), []string{"X-Api-Key", "key-of-b"}
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(b.URL, "http")+thread+"/stream/events",
		&websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"key-of-b"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	say := func(text string) {
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"id":7,"method":"subscription.subscribe","params":` + everything + `}`)
	run := command(b, thread, starts, "X-Api-Key", "key-of-a").Text("result.run_id")
	b.Do("GET", thread+"/runs/"+run+"/join", "", "X-Api-Key", "key-of-a").OK()
	for _, method := range []string{
		`"state.get"`, `"state.listCheckpoints"`, `"agent.getTree","params":{"run_id":"` + run + `"}`,
		`"input.inject","params":{"message":{"role":"user","content":"x"}}`,
		`"input.respond","params":{"interrupt_id":"q","response":"x"}`,
		`"run.start","params":{"assistant_id":"agent","input":{}}`, `"run.start","params":{"assistant_id":"other","input":{}}`,
	} {
		if got := command(b, thread, `{"id":2,"method":`+method+`}`, limited...); got.Text("type") != "error" || got.At("meta.applied_through_seq") != float64(0) {
			t.Errorf("%s: %s", method, got)
		}
	}
	say(`{"id":8,"method":"state.get"}`)
	var heard strings.Builder
	for !strings.Contains(heard.String(), `"id":8`) {
		_, message, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(heard.String(), err)
		}
		heard.Write(message)
	}
	if strings.Contains(heard.String(), `"event"`) || !strings.Contains(heard.String(), "no_such_run") {
		t.Errorf("the key received %s", heard.String())
	}
	if n := len(b.Do("GET", thread+"/runs", "", "X-Api-Key", "key-of-a").List("")); n != 1 {
		t.Errorf("the thread has %d runs", n)
	}
}

// TestKeyOfAPagesWebSocket checks that a page, which cannot set headers on a WebSocket, can offer its key as a
// subprotocol, and that a key in the URL is ignored.
func TestKeyOfAPagesWebSocket(t *testing.T) {
	t.Parallel()
	agent := adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain))
	cfg := rig.ConfigFor(t, map[string]config.Agent{"agent": rig.AgentAt(agent.URL)})
	const key = "a key/of+letters that=no,subprotocol has"
	cfg.Auth.Keys = []config.Key{{ID: "a", Key: key}}
	b := rig.StartBridge(t, cfg)
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	url := b.URL + newThread() + "/stream/events"
	offer := func(key string) []string {
		return []string{"apbridge", "x-api-key." + base64.RawURLEncoding.EncodeToString([]byte(key))}
	}
	for name, try := range map[string]struct {
		query  string
		offers []string
	}{
		"a wrong key": {"", offer("wrong")}, "no key": {"", []string{"apbridge"}}, "a key in the URL": {"?x-api-key=" + neturl.QueryEscape(key), nil},
	} {
		if _, res, err := websocket.Dial(ctx, url+try.query, &websocket.DialOptions{Subprotocols: try.offers}); err == nil || res == nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: offer(key)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if conn.Subprotocol() != "apbridge" {
		t.Errorf("the bridge chose the subprotocol %q; a browser disconnects without one", conn.Subprotocol())
	}
	if err := conn.Write(ctx, websocket.MessageText, []byte(starts)); err != nil {
		t.Fatal(err)
	}
	if _, message, err := conn.Read(ctx); err != nil || !strings.HasPrefix(string(message), `{"type":"success","id":1,`) {
		t.Errorf("%s, %v", message, err)
	}
}

func TestProtocolRefusesBadRequests(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	thread := b.Thread()
	for _, path := range []string{"/stream", "/stream/events"} {
		for body, status := range map[string]int{`{}`: 422, `{"channels":["nothing"]}`: 422, `{nope`: 422, `[]`: 422, ``: 422, `{"channels":["values"],"namespaces":{}}`: 422} {
			b.Post(thread+path, body).Is(status)
			b.Post("/threads/x"+path, `{"channels":["values"]}`).Is(422)
		}
	}
	run := command(b, thread, starts).Text("result.run_id")
	b.Get(thread + "/runs/" + run + "/join").OK()
	for since, status := range map[string]int{`"x"`: 422, `-1`: 422, `1.5`: 422, `9007199254740991`: 400} {
		b.Post(thread+"/stream/events", `{"channels":["values"],"since":`+since+`}`).Is(status)
	}
	for body, status := range map[string]int{`{}`: 422, `{nope`: 422, ``: 422, `{"id":1}`: 422} {
		b.Post(thread+"/commands", body).Is(status)
	}
	b.Get(thread + "/stream/events").Is(400)
}

// A WebSocket through the whole program: commands and events share it, pages of other sites do not get one, and it is
// closed when the bridge stops.
func TestProtocolOverAWebSocket(t *testing.T) {
	t.Parallel()
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	url := b.URL + newThread() + "/stream/events"
	_, res, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example"}}})
	if err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another site: %v", err)
	}
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	for _, say := range []string{`{"id":7,"method":"subscription.subscribe","params":{"channels":["lifecycle"]}}`, starts} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(say)); err != nil {
			t.Fatal(err)
		}
	}
	var heard strings.Builder
	for !strings.Contains(heard.String(), `"completed"`) {
		_, message, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(heard.String(), err)
		}
		if heard.Len() == 0 && !strings.HasPrefix(string(message), `{"type":"success","id":7,`) {
			t.Errorf("the first message is %s", message)
		}
		heard.Write(message)
	}
	if !strings.Contains(heard.String(), `{"type":"success","id":1,"result":{"run_id":`) {
		t.Error(heard.String())
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := conn.Read(ctx)
		ended <- err
	}()
	b.End()
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("when the bridge stops: %v", err)
	}
}

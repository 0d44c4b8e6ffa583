package matrix

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// everyMode lists the stream modes of LangGraph clients.
var everyMode = []string{"values", "updates", "messages", "messages-tuple", "custom", "events", "debug", "tasks", "checkpoints", "tools"}

// modesOf describes the streams of one agent's run.
type modesOf struct {
	name   string // of its golden file
	peer   func() http.Handler
	fields string   // of every request, in addition to input and mode
	said   []string // the texts of its messages, sorted
	inner  []string // including events of inner graphs, which only the mode messages has
	fresh  bool     // a separate bridge and agent for each mode
}

// streamedAgents returns agents of each kind that succeed, ask, fail, or run a graph within a graph.
func streamedAgents() []modesOf {
	step := func() http.Handler { return adaptertest.NewStepAgent(adaptertest.Plain) }
	breaks := func() http.Handler { return rig.FaultyStep(adaptertest.Plain, adaptertest.HTML500)() }
	plays := func(p adaptertest.ThreadPlay) func() http.Handler {
		return func() http.Handler { return &adaptertest.ThreadAgent{Plays: []adaptertest.ThreadPlay{p}} }
	}
	return []modesOf{
		{name: "step", peer: step, said: []string{"one", "three", "two"}},
		{name: "step-asks", peer: func() http.Handler { return rig.Curious(1) }},
		{name: "step-fails", peer: breaks, fresh: true},                          // the fault happens once
		{name: "step-subgraphs", peer: step, fields: `"stream_subgraphs":true,`}, // it has none: the same as without
		{name: "a2a", peer: func() http.Handler { return &adaptertest.A2AAgent{} }, said: []string{"first", "second", "third"}},
		{name: "graph", peer: plays(modesPlay()), said: []string{"planning", "whole at once"}, inner: []string{"deeper", "planning", "whole at once"}},
		{name: "graph-asks", peer: plays(adaptertest.AskPlay())},
		{name: "graph-fails", peer: plays(adaptertest.FailPlay())},
		{name: "graph-subgraphs", peer: plays(modesPlay()), fields: `"stream_subgraphs":true,`},
	}
}

// TestStreamModes compares the streams of every mode, and of all of them together, with golden files. The scripted
// graph sends everything, whatever was requested. The golden files have "uuid 1" and "time" in place of values that
// change from run to run.
func TestStreamModes(t *testing.T) {
	t.Parallel()
	for _, m := range streamedAgents() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			b := rig.InFront(t, m.peer())
			got := &txtar.Archive{}
			for _, mode := range append(slices.Clone(everyMode), strings.Join(everyMode, `","`)) {
				var frames []rig.Frame
				if m.fresh { // a subtest closes the bridge and its database
					t.Run(mode, func(t *testing.T) { frames = m.stream(t, rig.InFront(t, m.peer()), mode) })
				} else {
					frames = m.stream(t, b, mode)
				}
				name := mode
				if strings.Contains(mode, ",") {
					name = "all"
				}
				got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(shown(frames))})
				m.checkSaid(t, mode, frames)
			}
			rig.CheckGolden(t, filepath.Join("testdata", "modes", m.name+".txtar"), got)
		})
	}
}

// stream streams one run on a separate thread and checks what is common to all modes: the run's location, the first
// frame, ids, and the client's message.
func (m modesOf) stream(t *testing.T, b *rig.Bridge, mode string) []rig.Frame {
	t.Helper()
	at := b.Thread()
	res, frames := b.Stream("POST", at+"/runs/stream", `{"assistant_id":"agent","stream_mode":["`+mode+`"],`+m.fields+rig.SaysHi+`}`, 0)
	res.OK()
	if len(frames) == 0 || frames[0].Event != "metadata" {
		t.Fatalf("%s: the first of %s is not metadata", mode, rig.EventNames(frames))
	}
	run := at + "/runs/" + frames[0].At("run_id").(string)
	if got := res.Header.Get("Content-Location"); got != run {
		t.Errorf("Content-Location %q, want %q", got, run)
	}
	if got := res.Header.Get("Location"); got != run+"/stream" {
		t.Errorf("Location %q, want %q", got, run+"/stream")
	}
	seen := map[string]bool{}
	for _, f := range frames {
		if f.ID == "" || seen[f.ID] {
			t.Errorf("%s: frame %s has the id %q", mode, f.Event, f.ID)
		}
		seen[f.ID] = true
	}
	if first := b.Get(at + "/state").OK().At("values.messages.0"); rig.Dig(first, "id") != "0190c9a2-0000-7000-8000-000000000004" || rig.Dig(first, "content") != "hi" {
		t.Errorf("%s: the client's message is %v", mode, first)
	}
	return frames
}

// checkSaid joins the chunks of each message as clients do, and checks that the text is there once. In messages-tuple,
// the chunks with one id are joined. In messages, each frame replaces the previous one.
func (m modesOf) checkSaid(t *testing.T, mode string, frames []rig.Frame) {
	t.Helper()
	chunks, whole := map[string]string{}, map[string]string{}
	for _, f := range frames {
		switch f.Event {
		case "messages":
			chunks[fmt.Sprint(f.At("0.id"))] += fmt.Sprint(f.At("0.content"))
		case "messages/partial", "messages/complete":
			list, _ := f.At("").([]any)
			for _, said := range list {
				if rig.Dig(said, "type") != "human" {
					whole[fmt.Sprint(rig.Dig(said, "id"))] = fmt.Sprint(rig.Dig(said, "content"))
				}
			}
		}
	}
	for way, got := range map[string]map[string]string{`messages-tuple`: chunks, `messages`: whole} {
		asked := slices.Contains(strings.Split(mode, `","`), way)
		if m.said == nil || !asked {
			continue
		}
		want := m.said
		if mode == "messages" && m.inner != nil {
			want = m.inner
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Values(got))); diff != "" {
			t.Errorf("%s, read as %s: texts (-want +got):\n%s", mode, way, diff)
		}
	}
}

var (
	anyUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// anyDigits matches an id of the bridge's questions: a UUID of version 5 without dashes.
	anyDigits = regexp.MustCompile(`\b[0-9a-f]{12}5[0-9a-f]{3}[89ab][0-9a-f]{15}\b`)
	anyPort   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	anyTime   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)`)
)

// shown returns a stream with every id replaced by its own number and every time by a word, because they change from run
// to run.
func shown(frames []rig.Frame) string {
	var text strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&text, "%s %s\n", f.Event, f.Data)
	}
	return plain(text.String(), map[string]string{})
}

// plain replaces ids and times in a text. names has the replacements of the ids so far.
func plain(text string, names map[string]string) string {
	name := func(form string) func(id string) string {
		return func(id string) string {
			if names[id] == "" {
				names[id] = fmt.Sprintf("%s %d", form, len(names)+1)
			}
			return names[id]
		}
	}
	text = anyUUID.ReplaceAllStringFunc(text, name("uuid"))
	text = anyDigits.ReplaceAllStringFunc(text, name("digits"))
	return anyTime.ReplaceAllString(anyPort.ReplaceAllString(text, "127.0.0.1:port"), "time")
}

// modesPlay is a run of a graph within a graph as LangGraph servers stream it if all modes are requested. "plan" sends
// its message in tokens, "whole" in one piece.
func modesPlay() adaptertest.ThreadPlay {
	const (
		common = `"tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"}`
		human  = `{"content":"hi","additional_kwargs":{},"response_metadata":{},"id":"0190c9a2-0000-7000-8000-000000000004","type":"human"}`
		one    = `{"content":"planning","id":"run-1",` + common
		two    = `{"content":"whole at once","id":"run-2",` + common
		inner  = `|sub:5f1b0c1e-0000-5000-8000-000000000001`
		task1  = `"id":"d996b326-7448-56e6-8ebe-f8899f1ede65","name":"plan"`
		config = `{"configurable":{"thread_id":"{{thread}}","checkpoint_ns":"","checkpoint_id":"1f1e5690-23fd-62e0-8000-000000000001"}}`
	)
	state := func(list ...string) string { return `{"messages":[` + strings.Join(list, ",") + `]}` }
	token := func(text string) string {
		return `messages [{"content":"` + text + `","id":"run-1",` + common + `,{"langgraph_node":"plan","langgraph_step":1,"run_id":"{{run}}"}]`
	}
	point := func(values, step, next string) string {
		return `checkpoints {"values":` + values + `,"metadata":{"source":"loop","step":` + step + `,"parents":{}},"next":` + next + `}`
	}
	return adaptertest.ThreadPlay{
		Frames: []string{
			`metadata {"run_id":"{{run}}","attempt":1}`,
			`events {"event":"on_chain_start","name":"agent","run_id":"{{run}}","tags":[],"metadata":{},"data":{"input":` + state(human) + `}}`,
			`values ` + state(human),
			point(state(human), "0", `["plan"]`),
			`debug {"step":1,"type":"task","timestamp":"2026-11-21T05:04:19.726Z","payload":{` + task1 + `,"input":` + state(human) + `,"interrupts":[]}}`,
			`tasks {` + task1 + `,"input":` + state(human) + `,"triggers":["branch:to:plan"],"interrupts":[]}`,
			`values` + inner + ` {"depth":1}`,
			`updates` + inner + ` {"deep":{"depth":2}}`,
			`custom` + inner + ` {"within":true}`,
			`messages` + inner + ` [{"content":"dee","id":"run-0",` + common + `,{"langgraph_node":"deep","langgraph_step":1}]`,
			`messages` + inner + ` [{"content":"per","id":"run-0",` + common + `,{"langgraph_node":"deep","langgraph_step":1}]`,
			`custom {"thinking":true}`,
			token("plan"), token("ning"),
			`tools {"event":"on_tool_start","name":"search","input":"{}"}`,
			`updates {"plan":` + state(one) + `}`,
			`tasks {` + task1 + `,"result":` + state(one) + `,"interrupts":[]}`,
			`debug {"step":1,"type":"task_result","timestamp":"2026-11-21T05:04:19.730Z","payload":{` + task1 + `,"result":` + state(one) + `,"interrupts":[]}}`,
			`values ` + state(human, one),
			point(state(human, one), "1", `["whole"]`),
			`messages [` + two + `,{"langgraph_node":"whole","langgraph_step":2,"run_id":"{{run}}"}]`,
			`updates {"whole":` + state(two) + `}`,
			`values ` + state(human, one, two),
			point(state(human, one, two), "2", `[]`),
			`debug {"step":2,"type":"checkpoint","timestamp":"2026-11-21T05:04:19.740Z","payload":{"config":` + config + `,"values":` + state(human, one, two) + `,"next":[]}}`,
			`events {"event":"on_chain_end","name":"agent","run_id":"{{run}}","tags":[],"metadata":{},"data":{"output":` + state(human, one, two) + `}}`,
		},
		State: `{"values":` + state(human, one, two) + `,"next":[],"tasks":[],"metadata":{"run_id":"{{run}}","source":"loop","step":2,"parents":{}},` +
			`"created_at":"2026-11-21T05:04:19.726Z","checkpoint":{"thread_id":"{{thread}}","checkpoint_id":"{{checkpoint}}","checkpoint_ns":"","checkpoint_map":null},"parent_checkpoint":null}`,
	}
}

package protocol

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

const runEnd = `"multitask_strategy":"enqueue","stream_mode":` + runModes + `,"stream_subgraphs":true,"if_not_exists":"create"}`

// Commands start runs with these requests.
func TestRunsThatCommandsStart(t *testing.T) {
	t.Parallel()
	const graph = `{"assistant_id":"00000000-0000-7000-8000-000000000007",`
	for _, tt := range []struct {
		name, command, want string
		asking              bool
	}{
		{"a run", `{"id":1,"method":"run.start","params":{"assistant_id":"a","input":{"x":1}}}`,
			`{"assistant_id":"a","input":{"x":1},` + runEnd, false},
		{"as documented", `{"id":1,"method":"run.start","params":{"assistantId":"a","input":"hi","config":{"tags":[]},"metadata":{"m":1}}}`,
			`{"assistant_id":"a","config":{"tags":[]},"metadata":{"m":1},"input":"hi",` + runEnd, false},
		{"a strategy", `{"id":1,"method":"run.start","params":{"assistant_id":"a","input":null,"multitaskStrategy":"reject"}}`,
			`{"assistant_id":"a",` + strings.Replace(runEnd, "enqueue", "reject", 1), false},
		{"a fork, which answers nothing", `{"id":1,"method":"run.start","params":{"assistant_id":"a","input":{},"config":{"configurable":{"checkpoint_id":"c"}}}}`,
			`{"assistant_id":"a","config":{"configurable":{"checkpoint_id":"c"}},"input":{},"checkpoint_id":"c",` + runEnd, true},
		{"an input that is the answer", `{"id":1,"method":"run.start","params":{"assistant_id":"a","input":{"x":1}}}`,
			`{"assistant_id":"a","command":{"resume":{"x":1}},` + runEnd, true},
		{"an input for another agent than the one that asks", `{"id":1,"method":"run.start","params":{"assistant_id":"other","input":{"x":1}}}`,
			`{"assistant_id":"other","input":{"x":1},` + runEnd, true},
		{"words that are the answer", `{"id":1,"method":"run.start","params":{"assistant_id":"legacy","input":{"messages":[{"type":"human","content":"no"},{"type":"human","content":"yes"}]}}}`,
			`answers {"assistant_id":"legacy","input":{"messages":[{"type":"human","content":"no"},{"type":"human","content":"yes"}]},` + runEnd, true},
		{"what is no message, for an agent that did not ask", `{"id":1,"method":"run.start","params":{"assistant_id":"legacy","input":"yes"}}`,
			`{"assistant_id":"legacy","input":"yes",` + runEnd, true},
		{"no input goes on", `{"id":1,"method":"run.start","params":{"assistant_id":"a"}}`, `{"assistant_id":"a",` + runEnd, true},
		{"an answer", `{"id":1,"method":"input.respond","params":{"namespace":[],"interrupt_id":"q1","response":"yes"}}`,
			graph + `"command":{"resume":{"q1":"yes"}},` + runEnd, true},
		{"an answer that is null, with an update", `{"id":1,"method":"input.respond","params":{"namespace":[],"interruptId":"q1","response":null,"update":{"a":1},"goto":"b","config":{}}}`,
			graph + `"config":{},"command":{"resume":{"q1":null},"update":{"a":1},"goto":"b"},` + runEnd, true},
		{"answers", `{"id":1,"method":"input.respond","params":{"responses":[{"namespace":[],"interrupt_id":"q1","response":1}]}}`,
			graph + `"command":{"resume":{"q1":1}},` + runEnd, true},
		{"words on the way", `{"id":1,"method":"input.inject","params":{"namespace":[],"message":{"role":"user","content":"stop it"}}}`,
			graph + `"input":{"messages":[{"role":"user","content":"stop it"}]},` + runEnd, false},
		{"a fork", `{"id":1,"method":"state.fork","params":{"checkpointId":"c","input":{"x":1}}}`,
			graph + `"input":{"x":1},"checkpoint_id":"c",` + runEnd, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld().play(runOf(1, "graph"), started())
			if tt.asking {
				w.open = questions
			}
			if got := ask(t, w, tt.command); !strings.Contains(got, `"type":"success"`) {
				t.Fatal(got)
			}
			if d := cmp.Diff([]string{tt.want}, w.payloads); d != "" {
				t.Error(d)
			}
		})
	}
}

// To regenerate an answer, SDKs start a run without an input from the beginning of the turn. For a task/step agent, the
// run begins at the following checkpoint, which contains the input. If several inputs follow, the newest one belongs to
// the branch on the page.
func TestARunWithoutAnInputRepeatsTheTurn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ agent, from, want string }{
		{"legacy", uuid(301), uuid(304)},
		{"legacy", uuid(302), uuid(302)},
		{"a", uuid(301), uuid(301)},
	} {
		w := newWorld().play(runOf(1, "graph"), started())
		point := func(id, parent int, source string) adapter.ThreadState {
			return adapter.ThreadState{Checkpoint: uuid(id), Parent: uuid(parent), Metadata: raw(`{"source":"` + source + `","step":1}`)}
		}
		w.history = []adapter.ThreadState{point(305, 304, "loop"), point(304, 301, "input"), point(303, 302, "loop"), point(302, 301, "input"), point(301, 300, "loop")}
		ask(t, w, `{"id":1,"method":"run.start","params":{"assistant_id":"`+tt.agent+`","input":null,"config":{"configurable":{"checkpoint_id":"`+tt.from+`"}}}}`)
		if got := rawjson.GetText(raw(w.payloads[0]), "checkpoint_id"); got != tt.want {
			t.Errorf("%s from %s begins at %s, want %s", tt.agent, tt.from, got, tt.want)
		}
	}
}

// Replies to commands.
func TestReplies(t *testing.T) {
	t.Parallel()
	const snakeMeta = `"meta":{"thread_id":"00000000-0000-7000-8000-000000000001","applied_through_seq":2097151}}`
	const camelMeta = `"meta":{"threadId":"00000000-0000-7000-8000-000000000001","appliedThroughSeq":2097151}}`
	const bothMeta = `"meta":{"thread_id":"00000000-0000-7000-8000-000000000001","threadId":"00000000-0000-7000-8000-000000000001","applied_through_seq":2097151,"appliedThroughSeq":2097151}}`
	for _, tt := range []struct{ name, command, want string }{
		{"snake case", `{"id":7,"method":"run.start","params":{"assistant_id":"a","input":1}}`,
			`{"type":"success","id":7,"result":{"run_id":"00000000-0000-7000-8000-000000000101"},` + snakeMeta},
		{"camel case", `{"id":7,"method":"run.start","params":{"assistantId":"a","input":1}}`,
			`{"type":"success","id":7,"result":{"runId":"00000000-0000-7000-8000-000000000101"},` + camelMeta},
		{"a fork", `{"id":7,"method":"state.fork","params":{"checkpointId":"a"}}`,
			`{"type":"success","id":7,"result":{"runId":"00000000-0000-7000-8000-000000000101","threadId":"00000000-0000-7000-8000-000000000001"},` + camelMeta},
		{"the state, in no spelling", `{"id":0,"method":"state.get","params":{"namespace":[]}}`,
			`{"type":"success","id":0,"result":{"values":{"a":1,"b":2},"checkpoint":{"id":"c1","ns":""}},` + bothMeta},
		{"keys of the state", `{"id":0,"method":"state.get","params":{"keys":["b","c"]}}`,
			`{"type":"success","id":0,"result":{"values":{"b":2},"checkpoint":{"id":"c1","ns":""}},` + bothMeta},
		{"the state without params", `{"id":0,"method":"state.get"}`,
			`{"type":"success","id":0,"result":{"values":{"a":1,"b":2},"checkpoint":{"id":"c1","ns":""}},` + bothMeta},
		{"a tree", `{"id":0,"method":"agent.getTree","params":{"run_id":"00000000-0000-7000-8000-000000000101"}}`,
			`{"type":"success","id":0,"result":{"tree":{"namespace":[],"status":"running","graph_name":"graph","children":[{"namespace":["plan:1"],"status":"started","graph_name":"plan","children":[{"namespace":["plan:1","deep:2"],"status":"started","graph_name":"deep"}]}]}},` + snakeMeta},
		{"checkpoints", `{"id":0,"method":"state.listCheckpoints","params":{"limit":1}}`,
			`{"type":"success","id":0,"result":{"checkpoints":[{"id":"c1","timestamp":"2026-11-21T08:00:00Z","step":3,"metadata":{"step":3}}]},` + bothMeta},

		{"no such command", `{"id":0,"method":"foo.bar"}`, `{"type":"error","id":0,"error":"unknown_command","message":"There is no command \"foo.bar\".",` + bothMeta},
		{"a subscription over HTTP", `{"id":0,"method":"subscription.subscribe","params":{}}`, `{"type":"error","id":0,"error":"not_supported","message":"subscription.subscribe requires a WebSocket. Over HTTP, each POST to the stream is a subscription.",` + bothMeta},
		{"no agent", `{"id":0,"method":"run.start","params":{}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"assistant_id must be a non-empty string.",` + bothMeta},
		{"a name that is nearly one", `{"id":0,"method":"run.start","params":{"assistantId":"a","inptu":1}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"inptu is not a param of run.start. Did you mean input?",` + camelMeta},
		{"a name that is nearly one, and another", `{"id":0,"method":"state.get","params":{"keys":["b"],"kees":1,"colour":2}}`, `{"type":"success","id":0,"result":{"values":{"b":2},"checkpoint":{"id":"c1","ns":""}},` + strings.TrimSuffix(bothMeta, "}}") + `,"ignored":"params.kees, params.colour"}}`},
		{"a state below that is not there", `{"id":0,"method":"state.get","params":{"namespace":["a"]}}`, `{"type":"error","id":0,"error":"no_such_namespace","message":"The thread has no state for the namespace a.",` + bothMeta},
		{"a state below", `{"id":0,"method":"state.get","params":{"namespace":["inner:1","deep:2"],"keys":["a"]}}`, `{"type":"success","id":0,"result":{"values":{"a":1},"checkpoint":{"id":"` + uuid(61) + `","ns":"inner:1|deep:2"}},` + bothMeta},
		{"checkpoints below", `{"id":0,"method":"state.listCheckpoints","params":{"namespace":["inner:1","deep:2"]}}`, `{"type":"success","id":0,"result":{"checkpoints":[{"id":"` + uuid(61) + `","timestamp":"2026-11-28T17:45:26.129Z","step":1,"metadata":{"step":1}}]},` + bothMeta},
		{"no namespace", `{"id":0,"method":"state.get","params":{"namespace":"a"}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"namespace must be a list of strings.",` + bothMeta},
		{"no such question", `{"id":0,"method":"input.respond","params":{"interrupt_id":"q1"}}`, `{"type":"error","id":0,"error":"no_such_interrupt","message":"The thread is not waiting for an answer to q1. No question is open.",` + snakeMeta},
		{"an answer twice", `{"id":0,"method":"input.respond","params":{"responses":[{"interrupt_id":"q1"},{"interrupt_id":"q1"}]}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"responses answers q1 twice. Answer each question once.",` + snakeMeta},
		{"no question", `{"id":0,"method":"input.respond","params":{}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"interrupt_id must be a non-empty string.",` + bothMeta},
		{"no answers", `{"id":0,"method":"input.respond","params":{"responses":[]}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"responses must be a non-empty list of answers.",` + bothMeta},
		{"an answer that is none", `{"id":0,"method":"input.respond","params":{"responses":[1]}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"interrupt_id must be a non-empty string.",` + bothMeta},
		{"words of nobody", `{"id":0,"method":"input.inject","params":{"message":{"role":"ai","content":"x"}}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"message must be {role, content}, with \"user\" or \"system\" for the role and a string for the content.",` + bothMeta},
		{"words below the root", `{"id":0,"method":"input.inject","params":{"namespace":["a"],"message":{"role":"user","content":"x"}}}`, `{"type":"error","id":0,"error":"no_such_namespace","message":"This command is only possible for the root graph, whose namespace is [].",` + bothMeta},
		{"an answer of no namespace", `{"id":0,"method":"input.respond","params":{"namespace":"a","interrupt_id":"q1","response":1}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"namespace must be a list of strings.",` + snakeMeta},
		{"no such run", `{"id":0,"method":"agent.getTree","params":{"run_id":"x"}}`, `{"type":"error","id":0,"error":"no_such_run","message":"The thread has no run \"x\".",` + snakeMeta},
		{"no such checkpoint", `{"id":0,"method":"state.listCheckpoints","params":{"before":"` + uuid(404) + `"}}`, `{"type":"error","id":0,"error":"no_such_checkpoint","message":"There is no such checkpoint.",` + bothMeta},
		{"no checkpoint's id", `{"id":0,"method":"state.listCheckpoints","params":{"before":"x"}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"before must be the id of a checkpoint.",` + bothMeta},
		{"no checkpoints", `{"id":0,"method":"state.listCheckpoints","params":{"limit":0}}`, `{"type":"error","id":0,"error":"invalid_argument","message":"limit must be a whole number, 1 or greater.",` + bothMeta},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld().play(runOf(1, "graph"), started())
			if strings.Contains(tt.command, "getTree") {
				w = newWorld().play(runOf(1, "graph"), piece("m", "plan:1|deep:2", `"content":"x"`))
			}
			w.state = adapter.ThreadState{Values: raw(`{"a":1,"b":2}`), Checkpoint: "c1"}
			w.history = []adapter.ThreadState{{Checkpoint: "c1", CreatedAt: at, Metadata: raw(`{"step":3}`)}, {Checkpoint: "c0"}}
			if d := cmp.Diff(tt.want, ask(t, w, tt.command)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAnswersByTheirIds checks that answers name questions by their ids. If one id is not open, the whole command is
// refused.
func TestAnswersByTheirIds(t *testing.T) {
	t.Parallel()
	const digits = "b93f4bd644d25c28ac2a1bfa61d8dbfa"
	for answers, want := range map[string]string{
		`{"interrupt_id":"` + digits + `","response":1}`:                                    `{"resume":{"` + digits + `":1}}`,
		`{"interrupt_id":"q1","response":1},{"interrupt_id":"` + digits + `","response":2}`: `{"resume":{"q1":1,"` + digits + `":2}}`,
		`{"interrupt_id":"q1","response":1},{"interrupt_id":"q9","response":2}`:             "",
	} {
		w := newWorld().play(runOf(1, "graph"), started())
		w.open = append(slices.Clone(questions), mapping.Interrupt{ID: digits, Value: raw(`"and?"`)})
		got := ask(t, w, `{"id":1,"method":"input.respond","params":{"responses":[`+answers+`]}}`)
		switch {
		case want == "" && (w.payloads != nil || !strings.Contains(got, `"error":"no_such_interrupt"`) || !strings.Contains(got, "answer to q9. Open: q1, "+digits)):
			t.Errorf("%s: %s, and begins %v", answers, got, w.payloads)
		case want != "" && (len(w.payloads) != 1 || string(rawjson.Get(raw(w.payloads[0]), "command")) != want):
			t.Errorf("%s: %s, and begins %v", answers, got, w.payloads)
		}
	}
}

// TestListsOfCheckpointsAreLimited checks the maximum length of a list.
func TestListsOfCheckpointsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	w.history = slices.Repeat([]adapter.ThreadState{{Checkpoint: "c1", CreatedAt: at}}, mostCheckpoints+1)
	got := ask(t, w, `{"id":1,"method":"state.listCheckpoints","params":{"limit":9007199254740991}}`)
	if n := strings.Count(got, `"id":"c1"`); n != mostCheckpoints {
		t.Errorf("%d checkpoints, want %d", n, mostCheckpoints)
	}
}

// TestInjectIsRefusedAtAQuestion checks that the refusal names the open question.
func TestInjectIsRefusedAtAQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "graph"), started())
	w.open = questions
	got := ask(t, w, `{"id":1,"method":"input.inject","params":{"message":{"role":"user","content":"x"},"namespace":[]}}`)
	for _, want := range []string{`"error":"invalid_argument"`, "input.inject", "q1", "input.respond"} {
		if !strings.Contains(got, want) || w.payloads != nil {
			t.Errorf("%q is not in %s, or a run was begun", want, got)
		}
	}
}

// run.start creates a missing thread. Other commands report that it has no run.
func TestCommandsForAThreadThatIsNotThere(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`{"id":1,"method":"run.start","params":{"assistant_id":"a","input":1}}`:              `"applied_through_seq":0`,
		`{"id":1,"method":"state.get","params":{"namespace":[]}}`:                            `"error":"no_such_run"`,
		`{"id":1,"method":"agent.getTree"}`:                                                  `"error":"no_such_run"`,
		`{"id":1,"method":"input.respond","params":{"interrupt_id":"q"}}`:                    `"error":"no_such_run"`,
		`{"id":1,"method":"state.fork","params":{"checkpoint_id":"q"}}`:                      `"error":"no_such_run"`,
		`{"id":1,"method":"input.inject","params":{"message":{"role":"user","content":""}}}`: `"error":"no_such_run"`,
	} {
		w := newWorld()
		w.make("")
		if got := ask(t, w, command); !strings.Contains(got, want) {
			t.Errorf("%s: %s", command, got)
		}
	}
}

// Malformed commands are refused. Failures of the bridge are errors of the request, not replies.
func TestCommandsThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, `[]`, `{nope`, `{}`, `{"id":1}`, `{"id":-1,"method":"a"}`, `{"id":1.5,"method":"a"}`, `{"id":"1","method":"a"}`,
		`{"id":1,"method":2}`, `{"id":1,"method":"a","params":[]}`, `{"id":1,"id":2,"method":"a"}`, `{"id":9007199254740992,"method":"a"}`} {
		_, err := newWorld().server().Command(t.Context(), uuid(1), nil, raw(bad))
		if e := mapping.Classify(err); e.Class != mapping.Malformed && e.Class != mapping.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
	w := newWorld()
	w.broken = errors.New("the disk is on fire")
	if _, err := w.server().Command(t.Context(), uuid(1), nil, raw(`{"id":1,"method":"state.get"}`)); err == nil {
		t.Error("a broken database was reported in a reply")
	}
	w = newWorld()
	w.startErr = mapping.Errorf(mapping.Limited, mapping.CodeQueueFull, "The queue is full.")
	if _, err := w.server().Command(t.Context(), uuid(1), nil, raw(`{"id":1,"method":"run.start","params":{"assistant_id":"a"}}`)); !errors.Is(err, w.startErr) {
		t.Errorf("%v", err)
	}
}

func TestLossesAndHeadersOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.losses = []mapping.Loss{{Field: "context", Fate: mapping.Dropped}}
	h := http.Header{"Idempotency-Key": {"k"}}
	got, err := w.server().Command(t.Context(), uuid(1), h, raw(`{"id":1,"method":"run.start","params":{"assistant_id":"a"}}`))
	if err != nil || len(got.Losses) != 1 || w.headers[0].Get("Idempotency-Key") != "k" {
		t.Errorf("%+v %v %v", got, err, w.headers)
	}
}

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	for class, want := range map[mapping.Class]string{
		mapping.Invalid: errInvalid, mapping.Malformed: errInvalid, mapping.Conflict: errInvalid, mapping.Forbidden: errPermission,
		mapping.Unauthorized: errPermission, mapping.Internal: errUnknown, mapping.Unavailable: errUnknown,
	} {
		if got := errorCode(&mapping.Error{Class: class}); got != want {
			t.Errorf("%s: %s", class, got)
		}
	}
	for code, want := range byCode {
		if got := errorCode(&mapping.Error{Code: code, Class: mapping.Internal}); got != want {
			t.Errorf("%s: %s", code, got)
		}
	}
}

// FuzzCommand checks that any command is answered with JSON or refused.
func FuzzCommand(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"run.start","params":{"assistant_id":"a","input":{"messages":[{"content":"x"}]}}}`,
		`{"id":1,"method":"input.respond","params":{"responses":[{"interrupt_id":"q1","response":null}]}}`,
		`{"id":1,"method":"input.inject","params":{"message":{"role":"user","content":"x"},"namespace":[]}}`,
		`{"id":1,"method":"state.listCheckpoints","params":{"limit":3.0,"before":null}}`,
		`{"id":1,"method":"state.get","params":{"keys":["a"]}}`, `{"id":1,"method":"subscription.subscribe"}`, `{"id":null}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, command []byte) {
		w := newWorld().play(runOf(1, "graph"), started())
		w.open = questions
		got, err := w.server().Command(t.Context(), uuid(1), http.Header{}, command)
		if err == nil && !rawjson.Valid(got.Body) {
			t.Errorf("%s is answered %s", command, got.Body)
		}
		for _, p := range w.payloads {
			if !rawjson.Valid([]byte(p)) {
				t.Errorf("%s starts %s", command, p)
			}
		}
	})
}

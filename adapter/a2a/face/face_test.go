package face

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
)

// TestEveryRouteHasAnEffect also checks that each operation has a right.
func TestEveryRouteHasAnEffect(t *testing.T) {
	t.Parallel()
	r := mux.NewRouter()
	Mount(r, nil, adapter.Face{Section: config.Default().A2A})
	err := r.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, _ := route.GetPathTemplate()
		methods, _ := route.GetMethods()
		for _, method := range methods {
			if _, ok := Effect(method, path); !ok {
				t.Errorf("%s %s has no effect", method, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for m := range effects {
		if rights[m] == "" {
			t.Errorf("%s needs no right", m)
		}
	}
	if len(rights) != len(effects) {
		t.Errorf("%d rights, %d effects", len(rights), len(effects))
	}
}

// TestErrors has the codes and statuses of errors of the service (S 5.4).
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		class  mapping.Class
		code   string
		want   wire.Code
		status int
	}{
		{mapping.NotFound, mapping.CodeTaskNotFound, wire.CodeTaskNotFound, 404},
		{mapping.NotFound, mapping.CodeThreadNotFound, wire.CodeTaskNotFound, 404},
		{mapping.NotFound, mapping.CodeAgentNotFound, wire.CodeInvalidParams, 404},
		{mapping.NotFound, mapping.CodeRouteNotFound, wire.CodeMethodNotFound, 404},
		{mapping.Conflict, codeTaskEnded, wire.CodeUnsupportedOperation, 400},
		{mapping.Conflict, mapping.CodeNoPendingInterrupt, wire.CodeUnsupportedOperation, 400},
		{mapping.Conflict, mapping.CodeThreadBusy, wire.CodeUnsupportedOperation, 400},
		{mapping.Invalid, mapping.CodeKeyReused, wire.CodeInvalidParams, 400},
		{mapping.Invalid, mapping.CodeInvalid, wire.CodeInvalidParams, 400},
		{mapping.TooLarge, mapping.CodeInvalid, wire.CodeInvalidRequest, 413},
		{mapping.Unsupported, mapping.CodeInvalid, wire.CodeContentTypeNotSupported, 415},
		{mapping.Unauthorized, "unauthorized", wire.CodeInvalidRequest, 401},
		{mapping.Forbidden, "forbidden", wire.CodeInvalidRequest, 403},
		{mapping.Limited, "too_many_requests", wire.CodeInvalidRequest, 429},
		{mapping.Unavailable, mapping.CodeShutdown, wire.CodeInternal, 503},
		{mapping.Upstream, mapping.CodeBadUpstream, wire.CodeInvalidAgentResponse, 500},
		{mapping.Internal, mapping.CodeInternal, wire.CodeInternal, 500},
	} {
		if e := toWire(mapping.Errorf(x.class, x.code, "why")); e.Code != x.want || e.HTTPStatus() != x.status {
			t.Errorf("%s %s is %d with status %d", x.class, x.code, e.Code, e.HTTPStatus())
		}
	}
	if e := toWire(errors.New("secret")); e.Code != wire.CodeInternal || strings.Contains(e.Message, "secret") {
		t.Errorf("an unknown error is %+v", e)
	}
	if raw, ok := Refusal(mapping.Errorf(mapping.Forbidden, "forbidden", "no")).(json.RawMessage); !ok || !json.Valid(raw) {
		t.Errorf("a refusal is %s", raw)
	}
}

// TestMessagesComeBack checks that the parts of a message are those of its history.
func TestMessagesComeBack(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]wire.Parts{
		"text":  {wire.TextPart("a \u2028 text")},
		"texts": {wire.TextPart("one"), wire.TextPart(`{"two":2}`)},
		"data":  {wire.DataPart(json.RawMessage(`{"n":1.50}`)), wire.DataPart(json.RawMessage(`null`)), wire.DataPart(json.RawMessage(`"text"`))},
		"files": {wire.TextPart("see"), {Kind: wire.PartRaw, Raw: []byte{0, 255}, Filename: "a.bin", MediaType: "application/octet-stream"}, {Kind: wire.PartURL, URL: "https://h/a.png", Filename: "a.png", MediaType: "image/png"}},
		"links": {{Kind: wire.PartURL, URL: "https://h/a.png", MediaType: "image/png"}, {Kind: wire.PartURL, URL: "https://h/b"}},
	} {
		m := stateMessage(&wire.Message{MessageID: "m", Role: wire.RoleUser, Parts: parts})
		if diff := cmp.Diff(parts, partsOf(m, 100, nil)); diff != "" {
			t.Errorf("%s in %s (-sent +back):\n%s", name, m, diff)
		}
	}
	large := stateMessage(&wire.Message{MessageID: "m", Parts: wire.Parts{{Kind: wire.PartRaw, Raw: make([]byte, 101), Filename: "a.bin"}}})
	if got := partsOf(large, 100, nil); len(got) != 1 || got[0].Text != "[a.bin]" {
		t.Errorf("a large file comes back as %+v", got)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"type":"human","content":[{"type":"text","text":"x"},{"type":"file","data":"AA==","mime_type":"a/b"}],"additional_kwargs":{"a2a_data":[0,"1",null]}}`))
	f.Add([]byte(`{"type":"ai","content":null}`))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		if json.Valid(raw) {
			partsOf(raw, 100, nil)
			says(raw)
		}
	})
}

// FuzzSentMessages checks that the parts of any message that the face accepts come back in its history. Empty texts and
// files do not.
func FuzzSentMessages(f *testing.F) {
	f.Add([]byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"},{"data":{"n":1.50}},{"raw":"AA==","filename":"a.bin"},{"url":"https://h/a.png","mediaType":"image/png"}]}`))
	f.Add([]byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"data":"text"},{"data":""},{"data":null},{"text":"{}"},{"raw":"","mediaType":"text/plain"}]}`))
	f.Add([]byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"url":"x","filename":"\u0000"},{"raw":"_w","filename":"../a/b","mediaType":"Image/PNG; q=1"}]}`))
	r := wire.NewReader(wire.Limits{Bytes: 1 << 16, Depth: 30, Count: 50})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m wire.Message
		if r.Read(wire.V1, raw, &m) != nil {
			return
		}
		kept := stateMessage(&m)
		if !json.Valid(kept) {
			t.Fatalf("%s is kept as %s", raw, kept)
		}
		var want []wire.PartKind
		for _, p := range m.Parts {
			if p.Text != "" || p.URL != "" || p.Kind == wire.PartRaw || p.Kind == wire.PartData {
				want = append(want, p.Kind)
			}
		}
		var got []wire.PartKind
		for _, p := range partsOf(kept, 1<<20, nil) {
			got = append(got, p.Kind)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s is kept as %s (-sent +back):\n%s", raw, kept, diff)
		}
	})
}

// fold returns a state with messages.
func fold(t *testing.T, messages string) *state.Fold {
	t.Helper()
	f, err := state.NewFold(json.RawMessage(`{"messages":[` + messages + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// story is a run whose events a test makes.
type story struct {
	t   *testing.T
	v   *view
	run mapping.Run
	at  *state.Fold
	seq int64
}

func tell(t *testing.T, before *state.Fold) *story {
	return &story{t: t, v: newView("t", "c", 100), run: mapping.Run{ID: "r", TaskID: "t", Status: mapping.RunRunning}, at: before}
}

// add adds an event and returns its updates as JSON.
func (s *story) add(kind mapping.Kind, head mapping.Head, data string, after *state.Fold) (list []string) {
	s.t.Helper()
	if after == nil {
		after = s.at
	}
	s.seq++
	e := &state.Entry{Event: mapping.Event{Seq: s.seq, RunID: s.run.ID, Kind: kind, At: time.Unix(0, 0), Head: head, Data: json.RawMessage(data)}, Before: s.at, After: after}
	s.at = after
	for _, u := range s.v.add(&s.run, e) {
		raw, err := wire.Append(nil, wire.V1, u)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, string(raw))
	}
	return list
}

func (s *story) token(id, text string) []string {
	return s.add(mapping.KindDelta, mapping.Head{}, `[{"type":"AIMessageChunk","id":"`+id+`","content":"`+text+`"},{}]`, nil)
}

// TestTokensAndTheWhole checks that the first token replaces, later ones append, and the whole message is sent once (adk-go
// PR 599).
func TestTokensAndTheWhole(t *testing.T) {
	t.Parallel()
	human, old := `{"type":"human","id":"h","content":"hi"}`, `{"type":"ai","id":"old","content":"earlier"}`
	s := tell(t, fold(t, old))
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	if got := s.token("a", "Hel"); len(got) != 1 || strings.Contains(got[0], `"append"`) {
		t.Errorf("the first token: %s", got)
	}
	if got := s.token("a", "lo"); len(got) != 1 || !strings.Contains(got[0], `"append":true`) || strings.Contains(got[0], "lastChunk") {
		t.Errorf("the second token: %s", got)
	}
	if got := s.add(mapping.KindDelta, mapping.Head{NS: []string{"inner"}}, `[{"type":"AIMessageChunk","id":"x","content":"no"},{}]`, nil); got != nil {
		t.Errorf("a token of an inner graph: %s", got)
	}
	answer := `{"type":"ai","id":"a","content":"Hello"}`
	got := s.add(mapping.KindState, mapping.Head{}, "", fold(t, old+","+human+","+answer))
	if len(got) != 1 || !strings.Contains(got[0], `"text":"Hello"`) || !strings.Contains(got[0], `"lastChunk":true`) || strings.Contains(got[0], `"append"`) {
		t.Errorf("the whole: %s", got)
	}
	if got := s.add(mapping.KindState, mapping.Head{}, "", fold(t, old+","+human+","+answer+`,{"type":"tool","id":"x","content":"result"}`)); got != nil {
		t.Errorf("a state with the same answer: %s", got)
	}
	end := s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}, "", nil)
	if len(end) != 1 || !strings.Contains(end[0], "COMPLETED") {
		t.Errorf("the end: %s", end)
	}
	task := s.v.task()
	if len(task.History) != 1 || task.History[0].MessageID != "h" || task.Artifacts[0].Parts[0].Text != "Hello" {
		t.Errorf("the task is %+v", task)
	}
}

// TestTimesOfStatuses checks that the time of a status is not before that of the one before it, although the event that
// starts a run may be older than the run.
func TestTimesOfStatuses(t *testing.T) {
	t.Parallel()
	s := tell(t, nil)
	s.run.CreatedAt = time.Unix(1, 0) // all events are older
	s.v.begin(&s.run)
	for _, kind := range []mapping.Kind{mapping.KindStarted, mapping.KindUpdate} {
		if s.add(kind, mapping.Head{}, "{}", nil); !s.v.status.Timestamp.Equal(s.run.CreatedAt) {
			t.Errorf("a status after SUBMITTED has the time %s", s.v.status.Timestamp)
		}
	}
}

// TestTokensOfSeveralMessages checks that a message whose tokens are interrupted by those of another one is continued with
// all of its text, since the artifact shows one message at a time.
func TestTokensOfSeveralMessages(t *testing.T) {
	t.Parallel()
	s := tell(t, fold(t, ""))
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	s.token("a", "one ")
	s.token("b", "two")
	if got := s.token("a", "more"); strings.Contains(got[0], `"append"`) || !strings.Contains(got[0], "one more") {
		t.Errorf("the continued message: %s", got)
	}
	if got := s.add(mapping.KindDelta, mapping.Head{Passing: true}, `[{"type":"AIMessageChunk","id":"c","content":"progress"},{}]`, nil); got != nil {
		t.Errorf("a token that only reports progress: %s", got)
	}
}

// TestArtifactsThatGrowByTurns checks that artifacts with ids of their own only get what is new, that the task has them
// all meanwhile, and that a new version of one replaces it.
func TestArtifactsThatGrowByTurns(t *testing.T) {
	t.Parallel()
	s := tell(t, fold(t, ""))
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	token := func(message, artifact, text string, more bool) {
		t.Helper()
		var head mapping.Head
		if artifact != "" {
			head.Native, _ = wire.Append(nil, wire.V1, &wire.LoggedArtifact{Artifact: wire.Artifact{ArtifactID: artifact, Parts: wire.Parts{wire.TextPart("")}}})
		}
		got := s.add(mapping.KindDelta, head, `[{"type":"AIMessageChunk","id":"`+message+`","content":"`+text+`"},{}]`, nil)
		if len(got) != 1 || strings.Contains(got[0], `"append":true`) != more || !strings.Contains(got[0], `"text":"`+text+`"`) {
			t.Errorf("%q of %s: %s", text, message, got)
		}
	}
	want := func(texts ...string) {
		t.Helper()
		var got []string
		for _, a := range s.v.task().Artifacts {
			got = append(got, a.Parts[0].Text)
		}
		if slices.Sort(got); !slices.Equal(got, texts) {
			t.Errorf("the task has %q", got)
		}
	}
	token("a", "A", "one ", false)
	token("b", "B", "two ", false)
	token("a", "", "more", true)
	token("b", "", "words", true)
	want("one more", "two words")
	token("a2", "A", "again", false)
	token("b", "", ".", true)
	want("again", "two words.")
	if got := s.token("a", "!"); strings.Contains(got[0], `"append":true`) || !strings.Contains(got[0], "one more!") {
		t.Errorf("an artifact that shows another message: %s", got)
	}
}

// TestRetriesBeginAgain checks that the tokens of an attempt that is retried are replaced.
func TestRetriesBeginAgain(t *testing.T) {
	t.Parallel()
	s := tell(t, fold(t, ""))
	s.add(mapping.KindStarted, mapping.Head{Attempt: 1}, "", nil)
	s.token("a", "lost")
	s.add(mapping.KindStarted, mapping.Head{Attempt: 2}, "", nil)
	if got := s.token("a", "kept"); strings.Contains(got[0], `"append"`) {
		t.Errorf("the first token of the second attempt: %s", got)
	}
	got := s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}, "", nil)
	if len(got) != 2 || !strings.Contains(got[0], `"text":"kept"`) || !strings.Contains(got[0], `"lastChunk":true`) {
		t.Errorf("a message without a state: %s", got)
	}
}

// TestFailuresAreNoAnswers checks that the reason of a failure is only in the status (adk-python#6708).
func TestFailuresAreNoAnswers(t *testing.T) {
	t.Parallel()
	s := tell(t, fold(t, ""))
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	fault := mapping.Fault{Code: "upstream_error", Message: "no model"}
	update := rule.FaultUpdate("r", fault)
	after, err := s.at.Reduce(update.Data)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.add(update.Kind, update.Head, string(update.Data), after); strings.Contains(strings.Join(got, ""), "no model") {
		t.Errorf("the message about the failure: %s", got)
	}
	got := s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunError, Fault: &fault}}, "", nil)
	if len(got) != 1 || !strings.Contains(got[0], "FAILED") || !strings.Contains(got[0], `"metadata":{"code":"upstream_error"}`) {
		t.Errorf("the end: %s", got)
	}
}

// TestAnsweredGraphsThatEndSilently checks that what a graph said before its question is not its answer to a message that
// the graph does not keep. The history has the question with that message.
func TestAnsweredGraphsThatEndSilently(t *testing.T) {
	t.Parallel()
	said := `{"type":"human","id":"h","content":"hi"},{"type":"ai","id":"a","content":"planning"}`
	s := tell(t, nil)
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	s.add(mapping.KindState, mapping.Head{}, "", fold(t, said))
	asked := []mapping.Interrupt{{ID: "q", Value: json.RawMessage(`"Send it?"`)}}
	s.add(mapping.KindInterrupt, mapping.Head{Interrupts: asked}, "", nil)
	s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asked}}, "", nil)
	if task := s.v.task(); len(task.History) != 1 || len(task.Artifacts) != 1 || task.Status.Message.Parts[0].Text != "Send it?" {
		t.Errorf("the task that asks is %+v", task)
	}
	s.run = mapping.Run{ID: "r-2", TaskID: "t", Status: mapping.RunRunning, Kwargs: json.RawMessage(`{"a2a_message":{"messageId":"m-2","role":"ROLE_USER","parts":[{"text":"yes"}]}}`)}
	s.v.begin(&s.run)
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	if got := s.add(mapping.KindState, mapping.Head{}, "", fold(t, said+`,{"type":"tool","id":"x","content":"sent"}`)); len(got) > 0 {
		t.Errorf("a state without a new message: %s", got)
	}
	s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}, "", nil)
	var history []string
	task := s.v.task()
	for _, m := range task.History {
		history = append(history, m.Parts[0].Text)
	}
	if diff := cmp.Diff([]string{"hi", "planning", "Send it?", "yes"}, history); diff != "" || len(task.Artifacts) > 0 {
		t.Errorf("the answer is %+v, the history (-want +got):\n%s", task.Artifacts, diff)
	}
}

// TestStreamedQuestionsAreNotCompleted checks that a question that was sent in pieces is not sent again as an answer.
func TestStreamedQuestionsAreNotCompleted(t *testing.T) {
	t.Parallel()
	s := tell(t, nil)
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	s.token("a", "Which day?")
	asked := []mapping.Interrupt{{ID: "q", Value: json.RawMessage(`"Which day?"`)}}
	got := s.add(mapping.KindUpdate, mapping.Head{Reduce: true, Streamed: true, Interrupts: asked}, "", fold(t, `{"type":"ai","id":"a","content":"Which day?"}`))
	got = append(got, s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: asked}}, "", nil)...)
	if all := strings.Join(got, ""); strings.Contains(all, "artifactUpdate") || len(s.v.task().Artifacts) > 0 {
		t.Errorf("the question is an answer: %s", got)
	}
}

// TestLongAnswersFitIntoFrames checks that a long text is sent in several frames between characters.
func TestLongAnswersFitIntoFrames(t *testing.T) {
	t.Parallel()
	v := newView("t", "c", 100)
	text := strings.Repeat("é☃", maxText/2)
	var whole strings.Builder
	list := v.wholeUpdates(nil, v.shownAs(""), wire.Parts{wire.TextPart(text)})
	for i, u := range list {
		a := u.ArtifactUpdate
		piece := a.Artifact.Parts[0].Text
		if len(piece) > maxText || !mapping.IsText(piece) || a.Append != (i > 0) || a.LastChunk != (i == len(list)-1) {
			t.Errorf("piece %d has %d bytes, append %v, last %v", i, len(piece), a.Append, a.LastChunk)
		}
		whole.WriteString(piece)
	}
	if whole.String() != text || len(list) < 3 {
		t.Errorf("%d pieces are another text", len(list))
	}
}

// TestStatesWithoutMessages checks that the values of a graph without messages are its answer, and a reply of data alone
// does not repeat an earlier turn (LangGraph 0.16).
func TestStatesWithoutMessages(t *testing.T) {
	t.Parallel()
	before, _ := state.NewFold(nil)
	after, _ := state.NewFold(json.RawMessage(`{"sum":1.50,"files":{}}`))
	s := tell(t, before)
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	s.add(mapping.KindState, mapping.Head{}, "", after)
	s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}, "", nil)
	if a := s.v.task().Artifacts; len(a) != 1 || string(a[0].Parts[0].Data) != `{"sum":1.50}` {
		t.Errorf("the answer is %+v", a)
	}
	old := `{"type":"ai","id":"old","content":"earlier"}`
	s = tell(t, fold(t, old))
	s.add(mapping.KindStarted, mapping.Head{}, "", nil)
	s.add(mapping.KindState, mapping.Head{}, "", fold(t, old+`,{"type":"human","id":"h","content":"hi"}`))
	s.add(mapping.KindEnd, mapping.Head{Outcome: &mapping.Outcome{Status: mapping.RunSuccess}}, "", nil)
	if a := s.v.task().Artifacts; len(a) != 0 {
		t.Errorf("a task without an answer shows %+v", a)
	}
}

// TestObserversFork checks that a fork goes on by itself.
func TestObserversFork(t *testing.T) {
	t.Parallel()
	o := Observe(adapter.Observed{Run: mapping.Run{ID: "r", TaskID: "t"}})
	entry := func(text string) *state.Entry {
		return &state.Entry{Event: mapping.Event{Seq: 1, Kind: mapping.KindDelta, Data: json.RawMessage(`[{"type":"ai","id":"a","content":"` + text + `"},{}]`)}, Before: fold(t, ""), After: fold(t, "")}
	}
	o.Observe(entry("a"))
	other := o.Fork()
	first, second := o.Observe(entry("b")), other.Observe(entry("c"))
	if len(first) != 1 || len(second) != 1 || !strings.Contains(string(second[0].Bytes()), `"append":true`) {
		t.Errorf("%v, %v", first, second)
	}
}

// TestPositions checks what Last-Event-ID may be.
func TestPositions(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]position{"0": {0, -1}, "7": {7, -1}, " 7.3 ": {7, 3}} {
		h := http.Header{"Last-Event-Id": {id}}
		if at, given, err := positionOf(h); err != nil || !given || at != want {
			t.Errorf("%q is %+v, %v, %v", id, at, given, err)
		}
	}
	for _, id := range []string{"x", "-1", "1.", ".1", "1.-1", "99999999999999999999"} {
		if _, _, err := positionOf(http.Header{"Last-Event-Id": {id}}); err == nil {
			t.Errorf("%q is taken", id)
		}
	}
}

package a2a

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// speaker is a client of one version and binding.
type speaker struct {
	client
	version wire.Version
	http    bool
}

var leniently = wire.NewLenientReader(wire.Limits{})

func (s speaker) request(m wire.Method, params any) (method, path, body string) {
	method, path = "POST", "/a2a/"+s.agent
	var raw []byte
	var err error
	if s.http {
		id := ""
		if q, ok := params.(*wire.GetTaskRequest); ok {
			id = q.ID
		}
		var at string
		method, at = wire.Path(s.version, m, id, "")
		if path += at; method == "GET" {
			path += "?" + wire.Query(params).Encode()
		} else {
			raw, err = wire.Append(nil, s.version, params)
		}
	} else {
		raw, err = wire.AppendCall(nil, s.version, wire.ID("1"), m, params)
	}
	if err != nil {
		s.T.Fatal(err)
	}
	return method, path, string(raw)
}

func (s speaker) header() []string { return []string{"A2A-Version", s.version.String()} }

// call reads the result of a call.
func (s speaker) call(m wire.Method, params, into any) {
	s.T.Helper()
	method, path, body := s.request(m, params)
	a := s.Do(method, path, body, s.header()...).Is(200)
	result, err := json.RawMessage(a.Body), error(nil)
	if !s.http {
		result, err = leniently.Response(a.Body)
	}
	if err == nil {
		err = leniently.Read(s.version, result, into)
	}
	if err != nil {
		s.T.Fatalf("%v: %s", err, a.Body)
	}
}

// stream returns the artifacts that a client adds up from a stream.
func (s speaker) stream(m wire.Method, params any) (list []wire.Artifact) {
	s.T.Helper()
	method, path, body := s.request(m, params)
	_, frames := s.Stream(method, path, body, 0, s.header()...)
	for _, f := range frames {
		ev, err := leniently.Event(s.version, []byte(f.Data))
		if err != nil {
			s.T.Fatalf("%v: %s", err, f.Data)
		}
		u := ev.ArtifactUpdate
		if u == nil {
			continue
		}
		i := slices.IndexFunc(list, func(a wire.Artifact) bool { return a.ArtifactID == u.Artifact.ArtifactID })
		switch {
		case i < 0 && u.Append:
			s.T.Errorf("something is appended to an artifact that was never sent: %s", f.Data)
		case i < 0:
			list = append(list, u.Artifact)
		case u.Append:
			list[i].Parts = append(list[i].Parts, u.Artifact.Parts...)
		default:
			list[i] = u.Artifact
		}
	}
	return list
}

func speakers(c client) (list []speaker) {
	for _, v := range []wire.Version{wire.V1, wire.V03} {
		list = append(list, speaker{c, v, false})
	}
	for _, v := range []wire.Version{wire.V1, wire.V03HTTP} {
		list = append(list, speaker{c, v, true})
	}
	return list
}

// shownArtifacts is one line for each artifact and part.
func shownArtifacts(list []wire.Artifact) string {
	var out strings.Builder
	for _, a := range list {
		fmt.Fprintf(&out, "%s %q %q %s\n", a.ArtifactID, a.Name, a.Description, a.Metadata)
		for _, p := range a.Parts {
			fmt.Fprintf(&out, "  %s%s%s%s %q %q %s\n", p.Text, p.Data, p.URL, p.Raw, p.Filename, p.MediaType, p.Metadata)
		}
	}
	return out.String()
}

// TestArtifactsOfA2AAgents checks that A2A clients get the artifacts that an A2A agent made, with their properties and all
// their parts in order.
func TestArtifactsOfA2AAgents(t *testing.T) {
	t.Parallel()
	const want = `plan "The plan" "Where to go" {"pages":2}
  {"km":1.5} "" "" {"unit":"km"}
  Go north. "" "" 
  https://example.com/map.png "map.png" "image/png" 
  hello "note.txt" "text/plain" 
photo "A photo" "The view" 
  view "view.txt" "text/plain" 
`
	for _, agent := range []*adaptertest.A2AAgent{{}, {HTTP: true}, {Version: "0.3"}, {Version: "0.3", HTTP: true}, {Live: true, CutAfter: 4}} {
		t.Run(fmt.Sprintf("version %q, http %v, cut %d", agent.Version, agent.HTTP, agent.CutAfter), func(t *testing.T) {
			t.Parallel()
			for _, s := range speakers(before(t, agent)) {
				check := func(where string, got []wire.Artifact) {
					t.Helper()
					if diff := cmp.Diff(want, shownArtifacts(got)); diff != "" {
						t.Errorf("%s of %s, http %v (-want +got):\n%s", where, s.version, s.http, diff)
					}
				}
				say := func() *wire.SendMessageRequest {
					m := &wire.Message{MessageID: uuid.NewString(), Role: wire.RoleUser, Parts: wire.Parts{wire.TextPart("report")}}
					return &wire.SendMessageRequest{Message: m, Configuration: &wire.SendMessageConfiguration{}}
				}
				var sent wire.SendMessageResponse
				s.call(wire.MethodSendMessage, say(), &sent)
				check("the response", sent.Task.Artifacts)
				check("the stream", s.stream(wire.MethodSendStreamingMessage, say()))
				var task wire.Task
				s.call(wire.MethodGetTask, &wire.GetTaskRequest{ID: sent.Task.ID}, &task)
				check("the task", task.Artifacts)
				if len(task.History) != 1 {
					t.Errorf("artifacts are in the history, too: %+v", task.History)
				}
				if s.version == wire.V03 { // has no lists
					continue
				}
				var list wire.ListTasksResponse
				s.call(wire.MethodListTasks, &wire.ListTasksRequest{ContextID: task.ContextID, IncludeArtifacts: true}, &list)
				for _, each := range list.Tasks {
					check("the list", each.Artifacts)
				}
				if len(list.Tasks) != 1 {
					t.Errorf("%d tasks are listed", len(list.Tasks))
				}
			}
		})
	}
}

// TestVersionsOfArtifacts checks that a task has the newest version of each artifact over all its runs, that the history
// has the texts of earlier ones, and that a file that a later one has replaced is named.
func TestVersionsOfArtifacts(t *testing.T) {
	t.Parallel()
	a := &adaptertest.A2AAgent{}
	a.Change = func(ev map[string]any) {
		u, _ := ev["artifactUpdate"].(map[string]any)
		if u == nil {
			return
		}
		switch made := u["artifact"].(map[string]any); made["artifactId"] {
		case "two": // the text of one, in two pieces
			made["artifactId"] = "one"
		case "plan", "photo":
			for _, p := range made["parts"].([]any) {
				if p := p.(map[string]any); p["raw"] != nil {
					p["filename"] = "same.txt"
				}
			}
		}
	}
	s := speaker{before(t, a), wire.V1, false}
	show := func(words string) (string, string) {
		sent := s.client.call("SendMessage", message(words, words, "")).Want(t, 200, "TASK_STATE_COMPLETED")
		var task wire.Task
		s.call(wire.MethodGetTask, &wire.GetTaskRequest{ID: sent.Text("result.task.id")}, &task)
		var said []string
		for _, m := range task.History {
			said = append(said, m.Parts[0].Text)
		}
		return shownArtifacts(task.Artifacts), strings.Join(said, ", ")
	}
	if artifacts, history := show("say"); artifacts != "one \"\" \"\" \n  second \"\" \"\" \nthree \"\" \"\" \n  third \"\" \"\" \n" || history != "say, first" {
		t.Errorf("the history is %q, and the artifacts are\n%s", history, artifacts)
	}
	if artifacts, _ := show("report"); !strings.Contains(artifacts, "  [same.txt] ") || !strings.Contains(artifacts, `  view "same.txt" "text/plain"`) {
		t.Errorf("the artifacts with the same file are\n%s", artifacts)
	}
	asked := s.client.call("SendMessage", message("m", "ask me", "")).Want(t, 200, "TASK_STATE_INPUT_REQUIRED", `"artifactId":"draft"`)
	task := asked.Text("result.task.id")
	s.client.call("SendMessage", message("m-2", "red", `,"taskId":"`+task+`"`)).Want(t, 200, `"artifactId":"draft"`, `"artifactId":"painted"`)
	s.client.task(task).Want(t, 200, `"artifactId":"draft"`, `"artifactId":"painted"`)
}

// TestPartsReachA2AAgents checks that an A2A agent gets the data and the links of a message as parts of their own, whether an
// A2A client or a thread/run client sent them.
func TestPartsReachA2AAgents(t *testing.T) {
	t.Parallel()
	for _, agent := range a2aAgents() {
		t.Run(fmt.Sprintf("version %q, http %v", agent.Version, agent.HTTP), func(t *testing.T) {
			t.Parallel()
			c := before(t, agent)
			received := func() string { return shownParts(receivedBy(t, agent)) }
			data := wire.DataPart(json.RawMessage(`{"km":1.5}`))
			link := wire.Part{Kind: wire.PartURL, URL: "https://example.com/map.png", Filename: "map.png", MediaType: "image/png"}
			file := wire.Part{Kind: wire.PartRaw, Raw: []byte("hello"), Filename: "note.txt", MediaType: "text/plain"}
			for want, parts := range map[string]wire.Parts{
				"say\n[Attached file: note.txt]|{\"km\":1.5}|https://example.com/map.png map.png image/png|hello note.txt text/plain": {data, wire.TextPart("say"), link, file},
				`{"km":1.5}`: {data},
			} {
				s := speaker{c, wire.V1, false}
				m := &wire.Message{MessageID: uuid.NewString(), Role: wire.RoleUser, Parts: parts}
				var sent wire.SendMessageResponse
				s.call(wire.MethodSendMessage, &wire.SendMessageRequest{Message: m}, &sent)
				if got := received(); got != want {
					t.Errorf("the agent received %s, want %s", got, want)
				}
				if got := shownParts(sent.Task.History[0].Parts); got != shownParts(parts) {
					t.Errorf("the history has %s", got)
				}
			}
			s := speaker{c, wire.V1, false}
			asked := s.client.call("SendMessage", message("asking", "ask", "")).Want(t, 200, "TASK_STATE_INPUT_REQUIRED").Text("result.task.id")
			answer := &wire.Message{MessageID: uuid.NewString(), TaskID: asked, Role: wire.RoleUser, Parts: wire.Parts{wire.TextPart("red"), link, data}}
			var done wire.SendMessageResponse
			s.call(wire.MethodSendMessage, &wire.SendMessageRequest{Message: answer}, &done)
			if got, want := received(), `red|https://example.com/map.png map.png image/png|{"km":1.5}`; got != want {
				t.Errorf("the agent received the answer %s, want %s", got, want)
			}
			thread := c.Post("/threads", `{}`).OK().Text("thread_id")
			for _, words := range []string{"ask", "red"} { // a request and an answer
				c.Post("/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":[{"type":"text","text":"`+words+`"},
					{"type":"image_url","image_url":{"url":"https://example.com/map.png"}}]}]}}`).OK()
				if got, want := received(), words+"|https://example.com/map.png"; got != want {
					t.Errorf("the agent received %s, want %s", got, want)
				}
			}
		})
	}
}

// shownParts are parts in a line.
func shownParts(parts wire.Parts) string {
	var list []string
	for _, p := range parts {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s%s%s%s %s %s", p.Text, p.Data, p.URL, p.Raw, p.Filename, p.MediaType)))
	}
	return strings.Join(list, "|")
}

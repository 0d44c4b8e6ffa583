package a2a

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// client calls one agent over JSON-RPC in version 1.0.
type client struct {
	*rig.Bridge
	agent string
}

// call returns the answer to a call.
func (c client) call(method, params string, headers ...string) rig.Answer {
	c.T.Helper()
	return c.Do("POST", "/a2a/"+c.agent, request(method, params), append([]string{"A2A-Version", "1.0"}, headers...)...)
}

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// stream returns the first n frames of a call, or all for n 0.
func (c client) stream(method, params string, n int, headers ...string) []rig.Frame {
	c.T.Helper()
	a, frames := c.Stream("POST", "/a2a/"+c.agent, request(method, params), n, append([]string{"A2A-Version", "1.0"}, headers...)...)
	if a.Status != 200 || len(a.Body) > 0 {
		c.T.Fatalf("%s: %d %s", method, a.Status, a.Body)
	}
	return frames
}

// fails checks that a call is refused with a code.
func (c client) fails(code int, method, params string, headers ...string) rig.Answer {
	c.T.Helper()
	a := c.call(method, params, headers...)
	if got, _ := a.At("error.code").(float64); int(got) != code {
		c.T.Errorf("%s %s: %d %s, want code %d", method, params, a.Status, a.Body, code)
	}
	return a
}

// violates checks that a call is refused because of a field (S 9.5).
func (c client) violates(field, method, params string) {
	c.T.Helper()
	a := c.fails(-32602, method, params)
	if a.At("error.data.0.@type") != "type.googleapis.com/google.rpc.BadRequest" || a.At("error.data.0.fieldViolations.0.field") != field {
		c.T.Errorf("%s %.300s: %s, want a violation of %s", method, params, a.Body, field)
	}
}

// task returns the task with an id.
func (c client) task(id string) rig.Answer {
	c.T.Helper()
	return c.call("GetTask", `{"id":"`+id+`"}`).Is(200)
}

func (c client) awaitState(id, state string) {
	c.T.Helper()
	rig.Eventually(c.T, "task "+id+" has the state "+state, func() bool { return c.task(id).Text("result.status.state") == state })
}

// later runs a call on a goroutine and returns a function that waits for its result. A call that fails the test ends its
// goroutine, and the wait ends the test, which would otherwise stand still.
func later[T any](t *testing.T, call func() T) func() T {
	t.Helper()
	result := make(chan T, 1)
	go func() {
		defer close(result)
		result <- call()
	}()
	t.Cleanup(func() {
		for range result { // before the bridge stops
		}
	})
	return func() T {
		t.Helper()
		got, ok := <-result
		if !ok {
			t.FailNow()
		}
		return got
	}
}

// message returns the parameters of a send with a text.
func message(id, text, more string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":` + strconv.Quote(text) + `}]` + more + `}}`
}

// at returns a member of a frame's result.
func (c client) at(f rig.Frame, path string) string {
	c.T.Helper()
	return rig.Answer{T: c.T, Name: "a frame", Body: []byte(f.Data)}.Text("result." + path)
}

// kinds returns the kinds of updates in frames.
func kinds(frames []rig.Frame) (list []string) {
	for _, f := range frames {
		var m struct{ Result map[string]json.RawMessage }
		_ = json.Unmarshal([]byte(f.Data), &m)
		for kind := range m.Result {
			list = append(list, kind)
		}
	}
	return list
}

// sum is a task as a client adds it up from a stream: the texts of its artifacts by id, and its state.
type sum struct {
	texts map[string]string
	state string
	tasks int
}

func added(t *testing.T, s *sum, frames []rig.Frame) *sum {
	t.Helper()
	if s == nil {
		s = &sum{texts: map[string]string{}}
	}
	type part struct{ Text, Raw string }
	type artifact struct {
		ArtifactID string `json:"artifactId"`
		Parts      []part
	}
	said := func(a artifact) (text string) {
		for _, p := range a.Parts {
			text += p.Text + p.Raw
		}
		return text
	}
	for _, f := range frames {
		var m struct {
			Result struct {
				Task *struct {
					Status    struct{ State string }
					Artifacts []artifact
				}
				StatusUpdate   *struct{ Status struct{ State string } }
				ArtifactUpdate *struct {
					Artifact artifact
					Append   bool
				}
			}
		}
		if err := json.Unmarshal([]byte(f.Data), &m); err != nil {
			t.Fatalf("%v in %s", err, f.Data)
		}
		switch r := m.Result; {
		case r.Task != nil:
			s.tasks++
			s.state, s.texts = r.Task.Status.State, map[string]string{}
			for _, a := range r.Task.Artifacts {
				s.texts[a.ArtifactID] = said(a)
			}
		case r.StatusUpdate != nil:
			s.state = r.StatusUpdate.Status.State
		case r.ArtifactUpdate != nil:
			u := r.ArtifactUpdate
			if _, known := s.texts[u.Artifact.ArtifactID]; u.Append && !known {
				t.Errorf("something is appended to an artifact that was never sent: %s", f.Data)
			}
			if !u.Append {
				s.texts[u.Artifact.ArtifactID] = ""
			}
			s.texts[u.Artifact.ArtifactID] += said(u.Artifact)
		}
	}
	return s
}

// sumOf is the sum of the task that GetTask returns.
func sumOf(t *testing.T, task rig.Answer) *sum {
	t.Helper()
	return added(t, nil, []rig.Frame{{Data: fmt.Sprintf(`{"result":{"task":%s}}`, raw(t, task.At("result")))}})
}

func raw(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

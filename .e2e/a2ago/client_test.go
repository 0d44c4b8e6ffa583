package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// variant is one of the interfaces that the card of an agent announces.
type variant struct {
	name    string
	binding a2a.TransportProtocol
	version a2a.ProtocolVersion
}

var variants = []variant{
	{"JSON-RPC", a2a.TransportProtocolJSONRPC, a2a.Version},
	{"REST", a2a.TransportProtocolHTTPJSON, a2a.Version},
	{"JSON-RPC 0.3", a2a.TransportProtocolJSONRPC, a2av0.Version},
	{"REST 0.3", a2a.TransportProtocolHTTPJSON, a2av0.Version},
}

// each runs a test once for each interface of the bridge's agent of this name, with a client for it.
func each(t *testing.T, agent string, test func(*testing.T, variant, *a2aclient.Client)) {
	t.Helper()
	bridge := os.Getenv("E2E_BRIDGE")
	if bridge == "" {
		t.Skip("E2E_BRIDGE names no bridge; .e2e/run starts one")
	}
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), bridge+"/a2a/"+agent)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			var endpoints []*a2a.AgentInterface
			for _, i := range card.SupportedInterfaces {
				if i.ProtocolBinding == v.binding && i.ProtocolVersion == v.version {
					endpoints = append(endpoints, i)
				}
			}
			if len(endpoints) != 1 {
				t.Fatalf("the card has %d interfaces for %s", len(endpoints), v.name)
			}
			options := []a2aclient.FactoryOption{a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{}), a2av0.WithRESTTransport(a2av0.RESTTransportConfig{})}
			client, err := a2aclient.NewFromEndpoints(t.Context(), endpoints, options...)
			if err != nil {
				t.Fatal(err)
			}
			test(t, v, client)
		})
	}
}

func user(text string, parts ...*a2a.Part) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, append([]*a2a.Part{a2a.NewTextPart(text)}, parts...)...)
}

// send sends a message and waits for the task to end or to ask.
func send(t *testing.T, c *a2aclient.Client, m *a2a.Message) *a2a.Task {
	t.Helper()
	result, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: m})
	if err != nil {
		t.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok {
		t.Fatalf("the answer is a %T", result)
	}
	return task
}

// contents returns the texts and files of a task: its messages and its artifacts.
func contents(task *a2a.Task) (all []string) {
	add := func(parts a2a.ContentParts) {
		for _, part := range parts {
			all = append(all, part.Text()+string(part.Raw()))
		}
	}
	for _, m := range task.History {
		add(m.Parts)
	}
	for _, artifact := range task.Artifacts {
		add(artifact.Parts)
	}
	return all
}

func TestAStepAgentAnswersWithTextAndFiles(t *testing.T) {
	each(t, "jsagent", func(t *testing.T, v variant, c *a2aclient.Client) {
		if v.binding == a2a.TransportProtocolHTTPJSON && v.version == a2av0.Version {
			t.Skip("the SDK has base64 within base64 there")
		}
		file := a2a.NewRawPart([]byte("hello"))
		file.Filename, file.MediaType = "in.txt", "text/plain"
		task := send(t, c, user("write it", file))
		if task.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("the task is %s", task.Status.State)
		}
		all := contents(task)
		for _, want := range []string{"result of write it", "in.txt=hello"} {
			if !strings.Contains(strings.Join(all, "\n"), want) {
				t.Errorf("neither a message nor an artifact has %q: %q", want, all)
			}
		}
	})
}

func TestAGraphStreamsItsAnswer(t *testing.T) {
	each(t, "chat", func(t *testing.T, _ variant, c *a2aclient.Client) {
		var first a2a.Event
		var texts strings.Builder
		var state a2a.TaskState
		for ev, err := range c.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: user("hi")}) {
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = ev
			}
			switch e := ev.(type) {
			case *a2a.TaskArtifactUpdateEvent:
				for _, p := range e.Artifact.Parts {
					texts.WriteString(p.Text())
				}
			case *a2a.TaskStatusUpdateEvent:
				state = e.Status.State
			}
		}
		if _, ok := first.(*a2a.Task); !ok {
			t.Errorf("the first event is a %T", first)
		}
		if state != a2a.TaskStateCompleted || !strings.Contains(texts.String(), "you said: hi") {
			t.Errorf("ended as %s with %q", state, texts.String())
		}
	})
}

func TestAQuestionIsAnswered(t *testing.T) {
	each(t, "ask", func(t *testing.T, _ variant, c *a2aclient.Client) {
		task := send(t, c, user("hello"))
		if task.Status.State != a2a.TaskStateInputRequired || task.Status.Message == nil {
			t.Fatalf("the task is %+v", task.Status)
		}
		answer := user("yes")
		answer.TaskID, answer.ContextID = task.ID, task.ContextID
		ended := send(t, c, answer)
		if ended.ID != task.ID || ended.Status.State != a2a.TaskStateCompleted {
			t.Errorf("answered task %s is %s as %s", task.ID, ended.Status.State, ended.ID)
		}
		again := user("once more")
		again.TaskID, again.ContextID = task.ID, task.ContextID
		if _, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: again}); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("a message to an ended task: %v", err)
		}
	})
}

func TestARunningTaskIsFollowedAndCancelled(t *testing.T) {
	each(t, "slow", func(t *testing.T, _ variant, c *a2aclient.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var task *a2a.Task
		for ev, err := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: user("60000")}) {
			if err != nil {
				t.Fatal(err)
			}
			task = ev.(*a2a.Task)
			break // the client goes away; the task does not
		}
		seen := make(chan a2a.TaskState, 1)
		go func() {
			defer close(seen)
			first := true
			for ev, err := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
				if err != nil {
					t.Errorf("subscribe: %v", err)
					return
				}
				if first {
					first = false
					if _, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
						t.Errorf("cancel: %v", err)
					}
				}
				switch e := ev.(type) {
				case *a2a.Task:
					if e.Status.State.Terminal() {
						seen <- e.Status.State
					}
				case *a2a.TaskStatusUpdateEvent:
					if e.Status.State.Terminal() {
						seen <- e.Status.State
					}
				}
			}
		}()
		if state := <-seen; state != a2a.TaskStateCanceled {
			t.Errorf("ended as %q", state)
		}
		got, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
		if err != nil || got.Status.State != a2a.TaskStateCanceled {
			t.Errorf("then it is %+v, %v", got, err)
		}
	})
}

func TestTasksOfAContextAreListed(t *testing.T) {
	each(t, "jsagent", func(t *testing.T, v variant, c *a2aclient.Client) {
		if v.version == a2av0.Version && v.binding == a2a.TransportProtocolJSONRPC {
			t.Skip("0.3 lists no tasks over JSON-RPC")
		}
		first := send(t, c, user("no file"))
		next := user("no file again")
		next.ContextID = first.ContextID
		second := send(t, c, next)
		list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: first.ContextID})
		if err != nil {
			t.Fatal(err)
		}
		ids := map[a2a.TaskID]bool{}
		for _, task := range list.Tasks {
			ids[task.ID] = true
		}
		if len(ids) != 2 || !ids[first.ID] || !ids[second.ID] {
			t.Errorf("listed %v, want %s and %s", ids, first.ID, second.ID)
		}
	})
}

func TestPushConfigsAreKept(t *testing.T) {
	each(t, "ask", func(t *testing.T, _ variant, c *a2aclient.Client) {
		task := send(t, c, user("hello"))
		config := &a2a.PushConfig{TaskID: task.ID, ID: "mine", URL: "http://127.0.0.1:9/hook", Token: "secret"}
		if _, err := c.CreateTaskPushConfig(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		got, err := c.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "mine"})
		if err != nil || got.URL != config.URL || got.Token == "secret" {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := c.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "mine"}); err != nil {
			t.Error(err)
		}
		if list, err := c.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: task.ID}); err != nil || len(list) != 0 {
			t.Errorf("after the deletion: %v, %v", list, err)
		}
	})
}

func TestAnUnknownTaskIsNotFound(t *testing.T) {
	each(t, "jsagent", func(t *testing.T, _ variant, c *a2aclient.Client) {
		_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "no-such-task"})
		if !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("got %v", err)
		}
	})
}

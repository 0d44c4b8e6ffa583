// Command a2ago is an A2A agent built with the official Go SDK, as a peer of the end-to-end tests:
//
//	a2ago jsonrpc|rest|0.3|0.3rest
//
// It listens on a free loopback port and prints "listening on URL". The first word of a message selects what the agent
// does; see the table actions.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: a2ago jsonrpc|rest|0.3|0.3rest")
	}
	if err := serve(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func serve(kind string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	handler := a2asrv.NewHandler(agent{})
	endpoint := a2a.NewAgentInterface(url, a2a.TransportProtocolJSONRPC)
	mux := http.NewServeMux()
	switch kind {
	case "jsonrpc":
		mux.Handle("/", a2asrv.NewJSONRPCHandler(handler))
	case "rest":
		endpoint.ProtocolBinding = a2a.TransportProtocolHTTPJSON
		mux.Handle("/", a2asrv.NewRESTHandler(handler))
	case "0.3":
		endpoint.ProtocolVersion = a2av0.Version
		mux.Handle("/", a2av0.NewJSONRPCHandler(handler))
	case "0.3rest":
		endpoint.ProtocolBinding, endpoint.ProtocolVersion = a2a.TransportProtocolHTTPJSON, a2av0.Version
		mux.Handle("/", a2av0.NewRESTHandler(handler))
	default:
		return fmt.Errorf("unknown kind %q", kind)
	}
	card := &a2a.AgentCard{
		Name: "a2ago", Description: "An agent for tests.", Version: "1.0.0",
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*a2a.AgentInterface{endpoint},
		DefaultInputModes:   []string{"text/plain"},
		DefaultOutputModes:  []string{"text/plain"},
		Skills:              []a2a.AgentSkill{{ID: "test", Name: "test", Description: "Does what a test needs.", Tags: []string{"test"}}},
	}
	cards := a2asrv.NewStaticAgentCardHandler(card)
	if endpoint.ProtocolVersion == a2av0.Version {
		cards = a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card))
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, cards)
	fmt.Println("listening on", url)
	return http.Serve(listener, mux)
}

// agent selects an action by the first word of each message.
type agent struct{}

// emitter sends events to the client of one message.
type emitter struct {
	x     *a2asrv.ExecutorContext
	yield func(a2a.Event, error) bool
}

func (e *emitter) event(ev a2a.Event) { e.yield(ev, nil) }

func (e *emitter) status(state a2a.TaskState, text ...string) {
	var message *a2a.Message
	if len(text) > 0 {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, e.x, a2a.NewTextPart(strings.Join(text, " ")))
	}
	e.event(a2a.NewStatusUpdateEvent(e.x, state, message))
}

// actions are what the agent can do, by the first word of a message. Any other message is echoed.
var actions = map[string]func(context.Context, *emitter, string){
	"ask": func(_ context.Context, e *emitter, _ string) { e.status(a2a.TaskStateInputRequired, "Which colour?") },
	"fail": func(_ context.Context, e *emitter, _ string) {
		e.status(a2a.TaskStateFailed, "the disk is full")
	},
	"reject": func(_ context.Context, e *emitter, _ string) { e.status(a2a.TaskStateRejected, "not my job") },
	"message": func(_ context.Context, e *emitter, text string) {
		e.event(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("directly: "+text)))
	},
	"file": func(_ context.Context, e *emitter, text string) {
		part := a2a.NewRawPart([]byte(text))
		part.Filename, part.MediaType = "note.txt", "text/plain"
		e.event(a2a.NewArtifactEvent(e.x, part))
		e.status(a2a.TaskStateCompleted)
	},
	// mirror returns the parts of the message as an artifact.
	"mirror": func(_ context.Context, e *emitter, _ string) {
		ev := a2a.NewArtifactEvent(e.x, e.x.Message.Parts...)
		ev.Artifact.ID, ev.Artifact.Name, ev.Artifact.Description = "mirrored", "A mirror", "What was sent"
		ev.LastChunk = true
		e.event(ev)
		e.status(a2a.TaskStateCompleted)
	},
	"wait": func(ctx context.Context, e *emitter, text string) {
		waits.Store(text, e.x.TaskID)
		e.status(a2a.TaskStateWorking, "waiting")
		<-ctx.Done()
	},
	// canceled answers whether a client canceled the task that waited with the same text.
	"canceled": func(_ context.Context, e *emitter, text string) {
		answer := "no"
		if id, ok := waits.Load(text); ok {
			if _, ok := canceled.Load(id); ok {
				answer = "yes"
			}
		}
		e.event(a2a.NewArtifactEvent(e.x, a2a.NewTextPart(answer)))
		e.status(a2a.TaskStateCompleted)
	},
}

// waits holds the ids of waiting tasks by the text after the word, and canceled the ids of canceled tasks.
var waits, canceled sync.Map

func (agent) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		e := &emitter{x: x, yield: yield}
		text, files := read(x.Message)
		if x.StoredTask != nil { // the answer to a question
			e.event(a2a.NewArtifactEvent(x, a2a.NewTextPart("Painted it "+text+".")))
			e.status(a2a.TaskStateCompleted)
			return
		}
		word, rest, _ := strings.Cut(text, " ")
		if word != "message" {
			e.event(a2a.NewSubmittedTask(x, x.Message))
			e.status(a2a.TaskStateWorking)
		}
		if act := actions[word]; act != nil {
			act(ctx, e, rest)
			return
		}
		first := a2a.NewArtifactEvent(x, a2a.NewTextPart("You said: "))
		e.event(first)
		last := a2a.NewArtifactUpdateEvent(x, first.Artifact.ID, a2a.NewTextPart(text+files))
		last.LastChunk = true
		e.event(last)
		e.status(a2a.TaskStateCompleted)
	}
}

// read returns the text of a message, and a description of its files.
func read(m *a2a.Message) (text, files string) {
	for _, part := range m.Parts {
		if raw := part.Raw(); raw != nil {
			files += fmt.Sprintf(" [%s=%s]", part.Filename, raw)
		} else {
			text += part.Text()
		}
	}
	return text, files
}

func (agent) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.StoredTask == nil {
			yield(nil, errors.New("no task"))
			return
		}
		canceled.Store(x.StoredTask.ID, true)
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

package threadrun

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

var streamingEvent = check.Object(check.Members{
	"type": check.OneOf("event"), "method": check.Text,
	"params": check.Object(check.Members{"namespace": check.List(check.Text), "timestamp": check.Integer, "data": check.Any}, nil),
}, check.Members{"seq": check.Integer, "eventId": check.Text})

func (s *streaming) hear(t *check.Talk) eventLog {
	h := s.heard.Need(t, "event", s.follow)
	h.stream.In(t)
	return h
}

func (s *streaming) events(t *check.Talk) []check.Event { return s.hear(t).stream.Events }

func (s *streaming) eventChecks() []check.Check {
	return []check.Check{
		{ID: "streaming.events", Level: check.Must, Says: "The events of a thread are streamed as server-sent events.", Cites: streamingDoc.At("6. Subscription & Event Streaming, EventStreamRequest"),
			Run: func(t *check.Talk) { s.heard.Own(t, s.follow) }},
		{ID: "streaming.events.path", Level: check.Must, Says: "The event stream is at the document's path, /threads/:thread_id/stream.", Cites: streamingDoc.At("4. Thread-Centric Model, Transport endpoints"),
			Run: func(t *check.Talk) {
				if h := s.hear(t); !t.Over() && h.path != s.aRun(t).thread+"/stream" {
					t.Fail("the stream is at %s", h.path)
				}
			}},
		{ID: "streaming.events.shape", Level: check.Must, Says: "The data of each event is an Event.", Cites: streamingDoc.At("3. Top-Level Message Framing, Event; 7. to 11., params"),
			Run: func(t *check.Talk) {
				for i, e := range s.events(t) {
					if wrong := streamingEvent(e.Data, ""); wrong != "" {
						t.Fail("event %d: %s", i+1, wrong)
					}
				}
			}},
		{ID: "streaming.events.seq", Level: check.Must, Says: "seq increases from each event to the next.", Cites: streamingDoc.At("3. Top-Level Message Framing, Event, seq"),
			Run: func(t *check.Talk) {
				last := -1.0
				for i, e := range s.events(t) {
					if n, ok := check.At(e.Data, "seq").(float64); ok && n <= last {
						t.Fail("event %d has the seq %v, after %v", i+1, n, last)
					} else if ok {
						last = n
					}
				}
			}},
		{ID: "streaming.events.id", Level: check.Must, Says: "The eventId of an event is the id of its frame.", Cites: streamingDoc.At("3. Top-Level Message Framing, Event, eventId"), Run: s.ids},
		{ID: "streaming.events.names", Level: check.Must, Says: "Events use the document's name for their id, eventId.", Cites: streamingDoc.At("3. Top-Level Message Framing, Event, eventId"),
			Run: func(t *check.Talk) {
				for i, e := range s.events(t) {
					if check.At(e.Data, "eventId") == nil && check.At(e.Data, "event_id") != nil {
						t.Fail("event %d has event_id instead", i+1)
					}
				}
			}},
		{ID: "streaming.lifecycle", Level: check.Must, Says: "The lifecycle of a run uses the document's names.", Cites: streamingDoc.At("7. Agent / Lifecycle Module, LifecycleData and AgentStatus"),
			Run: func(t *check.Talk) {
				words := check.OneOf("started", "running", "completed", "failed", "interrupted")
				for _, e := range s.events(t) {
					if check.At(e.Data, "method") == "lifecycle" {
						t.Fits(words, check.At(e.Data, "params.data.event"), "lifecycle")
					}
				}
			}},
		{ID: "streaming.values", Level: check.Must, Says: "The channel values contains snapshots of the state.", Cites: streamingDoc.At("5. Channels, values"),
			Run: func(t *check.Talk) {
				found := false
				for _, e := range s.events(t) {
					_, object := check.At(e.Data, "params.data").(map[string]any)
					found = found || object && check.At(e.Data, "method") == "values"
				}
				if !found {
					t.Fail("no event of the run has values")
				}
			}},
	}
}

func (s *streaming) ids(t *check.Talk) {
	found := false
	for i, e := range s.events(t) {
		id, ok := either(e.Data, "eventId", "event_id").(string)
		if found = found || ok; ok && id != e.ID {
			t.Fail("event %d has the eventId %q in a frame with the id %q", i+1, id, e.ID)
		}
	}
	if !found {
		t.Skip("the events have no eventId")
	}
}

func (s *streaming) filterChecks() []check.Check {
	return []check.Check{
		{ID: "streaming.filter", Level: check.Must, Says: "A stream has the requested channels and no others.", Cites: streamingDoc.At("6. Subscription & Event Streaming, EventStreamRequest, channels"),
			Run: func(t *check.Talk) {
				for _, e := range t.Stream(listen(s.hear(t).path, `{"channels":["lifecycle"],"since":0}`), ended).Events {
					if method := check.At(e.Data, "method"); method != "lifecycle" {
						t.Fail("channels lifecycle: there is an event with the method %v", method)
					}
				}
			}},
		{ID: "streaming.since", Level: check.Must, Says: "A stream with since begins after that seq.", Cites: streamingDoc.At("6. Subscription & Event Streaming, EventStreamRequest, since"), Run: s.since},
		{ID: "streaming.replay", Level: check.Should, Says: "Events keep their ids when they are read again.", Cites: streamingDoc.At("3. Top-Level Message Framing, Event, eventId, for reconnection"), Run: s.replay},
		{ID: "streaming.events.invalid", Level: check.Must, Says: "A stream without channels returns 422.", Cites: agentProtocolDoc.At("open_thread_sse_stream, 422; schema EventStreamRequest, channels, minItems"),
			Run: func(t *check.Talk) {
				t.Opened(listen(s.hear(t).path, `{"channels":[]}`)).Is(http.StatusUnprocessableEntity)
			}},
	}
}

func (s *streaming) since(t *check.Talk) {
	list := s.events(t)
	var after float64
	for _, e := range list[:max(0, len(list)-1)] { // expect the last one again
		if n, ok := check.At(e.Data, "seq").(float64); ok {
			after = n
		}
	}
	if after == 0 {
		t.Skip("the events have no seq")
	}
	body, _ := json.Marshal(map[string]any{"channels": []string{"values", "updates", "messages", "lifecycle"}, "since": after})
	for _, e := range t.Stream(listen(s.hear(t).path, string(body)), ended).Events {
		if n, ok := check.At(e.Data, "seq").(float64); ok && n <= after {
			t.Fail("since %v: there is an event with the seq %v", after, n)
		}
	}
}

func (s *streaming) replay(t *check.Talk) {
	known := map[string]bool{}
	for _, e := range s.events(t) {
		known[fmt.Sprint(either(e.Data, "eventId", "event_id"))] = true
	}
	again := t.Stream(listen(s.hear(t).path, `{"channels":["values","lifecycle"],"since":0}`), ended)
	for _, e := range again.Events {
		if id := fmt.Sprint(either(e.Data, "eventId", "event_id")); !known[id] {
			t.Fail("an event has the eventId %s, which no event had before", id)
		}
	}
}

package a2a

import (
	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

// stream is the response to a streaming message.
type stream struct {
	check.Stream
	overRPC bool
}

// updates returns the StreamResponse of each event.
func (s stream) updates() (list []any) {
	for _, e := range s.Events {
		if s.overRPC {
			list = append(list, check.At(e.Data, "result"))
		} else {
			list = append(list, e.Data)
		}
	}
	return list
}

func (s *suite) open(t *check.Talk) stream {
	c := s.aCard(t)
	if !t.Over() && !c.streaming {
		t.Skip("the card does not announce streaming")
	}
	request, overRPC := s.request(t, "SendStreamingMessage", s.message(nil))
	r := stream{t.Stream(request, nil), overRPC}
	r.Is(200).Typed("text/event-stream")
	if !t.Over() && len(r.Events) == 0 {
		t.Fail("the stream has no events")
	}
	return r
}

func (s *suite) aStream(t *check.Talk) stream {
	r := s.stream.Need(t, "stream", s.open)
	r.Answer = r.In(t)
	return r
}

func (s *suite) streamChecks() []check.Check {
	return []check.Check{
		{ID: "a2a.stream", Level: check.Must, Says: "Sending a streaming message returns an event stream.", Cites: doc.At("3.1.2"),
			Run: func(t *check.Talk) { s.stream.Own(t, s.open) }},
		{ID: "a2a.stream.schema", Level: check.Must, Says: "Each event has exactly one task, message or update.", Cites: doc.At("3.2.3"),
			Run: func(t *check.Talk) {
				for _, each := range s.aStream(t).updates() {
					t.Fits(update, each, "the event")
				}
			}},
		{ID: "a2a.stream.first", Level: check.Must, Says: "A stream begins with a task or is one message.", Cites: doc.At("3.1.2"),
			Run: func(t *check.Talk) {
				list := s.aStream(t).updates()
				if t.Over() {
					return
				}
				if check.At(list[0], "task") == nil && (check.At(list[0], "message") == nil || len(list) > 1) {
					t.Fail("the first of %d events is neither a task nor the only message", len(list))
				}
			}},
		{ID: "a2a.stream.end", Level: check.Must, Says: "A stream ends when its task has ended or needs input.", Cites: doc.At("3.1.2"),
			Run: func(t *check.Talk) {
				state := ""
				for _, each := range s.aStream(t).updates() {
					for _, path := range []string{"task.status.state", "statusUpdate.status.state"} {
						if now := check.TextAt(each, path); now != "" {
							state = now
						}
					}
					if check.At(each, "message") != nil {
						return
					}
				}
				if !t.Over() && !settled(state) {
					t.Fail("the stream ends in state %q", state)
				}
			}},
		{ID: "a2a.stream.off", Level: check.Must, Says: "Streaming without the capability is refused.", Cites: doc.At("3.3.4"),
			Run: func(t *check.Talk) {
				if s.aCard(t).streaming {
					t.Skip("the card announces streaming")
				}
				s.fails(t, "SendStreamingMessage", s.message(nil), unsupported)
			}},
		{ID: "a2a.subscribe.ended", Level: check.Must, Says: "Subscribing to an ended task is refused.", Cites: doc.At("3.1.6"),
			Run: func(t *check.Talk) {
				id := s.anEndedTask(t)
				if !s.aCard(t).streaming {
					t.Skip("the card does not announce streaming")
				}
				s.fails(t, "SubscribeToTask", members{"id": id}, unsupported)
			}},
		{ID: "a2a.subscribe.unknown", Level: check.Must, Says: "Subscribing to an unknown task is refused.", Cites: doc.At("3.1.6"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				if !s.aCard(t).streaming {
					t.Skip("the card does not announce streaming")
				}
				s.fails(t, "SubscribeToTask", members{"id": nobody}, taskNotFound)
			}},
	}
}

// push is a push configuration of the ended task.
type push struct{ task, id string }

// hook is the address for notifications. None is sent, because the task has ended.
const hook = "https://example.com/apbridge-conformance"

func (s *suite) create(t *check.Talk) push {
	id := s.anEndedTask(t)
	if !t.Over() && !s.aCard(t).push {
		t.Skip("the card does not announce push notifications")
	}
	o := s.succeeds(t, "CreateTaskPushNotificationConfig", members{"taskId": id, "id": "check", "url": hook, "token": "a secret"})
	t.Fits(pushShape, o.at(""), "the configuration")
	return push{id, o.text("id")}
}

func (s *suite) pushChecks() []check.Check {
	need := func(t *check.Talk) push { return s.pushed.Need(t, "push configuration", s.create) }
	return []check.Check{
		{ID: "a2a.push.off", Level: check.Must, Says: "Creating a push configuration without the capability is refused.", Cites: doc.At("3.3.4"),
			Run: func(t *check.Talk) {
				id := s.aTask(t).text("task.id")
				if s.aCard(t).push {
					t.Skip("the card announces push notifications")
				}
				s.fails(t, "CreateTaskPushNotificationConfig", members{"taskId": id, "url": hook}, pushNotSupported)
			}},
		{ID: "a2a.push.create", Level: check.Must, Says: "A push configuration can be created.", Cites: doc.At("3.1.7"),
			Run: func(t *check.Talk) { s.pushed.Own(t, s.create) }},
		{ID: "a2a.push.get", Level: check.Must, Says: "A push configuration can be fetched by its id.", Cites: doc.At("3.1.8"),
			Run: func(t *check.Talk) {
				p := need(t)
				if o := s.succeeds(t, "GetTaskPushNotificationConfig", members{"taskId": p.task, "id": p.id}); !t.Over() && o.text("url") != hook {
					t.Fail("the URL is %q", o.text("url"))
				}
			}},
		{ID: "a2a.push.list", Level: check.Must, Says: "The push configurations of a task can be listed.", Cites: doc.At("3.1.9"),
			Run: func(t *check.Talk) {
				p := need(t)
				o := s.succeeds(t, "ListTaskPushNotificationConfigs", members{"taskId": p.task})
				if list, _ := o.at("configs").([]any); !t.Over() && !check.Holds(list, "id", p.id) {
					t.Fail("the configuration is not in the list")
				}
			}},
		{ID: "a2a.push.delete", Level: check.Must, Says: "A deleted push configuration is no longer listed.", Cites: doc.At("3.1.10"),
			Run: func(t *check.Talk) {
				p := need(t)
				s.succeeds(t, "DeleteTaskPushNotificationConfig", members{"taskId": p.task, "id": p.id})
				o := s.succeeds(t, "ListTaskPushNotificationConfigs", members{"taskId": p.task})
				if list, _ := o.at("configs").([]any); !t.Over() && check.Holds(list, "id", p.id) {
					t.Fail("the configuration is still listed")
				}
			}},
	}
}

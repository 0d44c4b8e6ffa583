package protocol

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// quick serves a world whose runs have already ended when the reply to their start is sent.
func quick(w *world) *Server {
	s := w.server()
	runs := 0
	s.Start = func(ctx context.Context, asked Start) (*adapter.Started, error) {
		runs++
		w.play(runOf(runs, "legacy"), twoSteps()...)
		return w.start(ctx, asked)
	}
	return s
}

const startRun = `{"id":1,"method":"run.start","params":{"assistant_id":"a","input":1}}`

func subscribe(members string) string {
	return `{"id":2,"method":"subscription.subscribe","params":{` + members + `}}`
}

// events reads up to the end of a run and returns the methods and ids of the events, preceded by the replies.
func (w *wire) events() (list []string) {
	w.t.Helper()
	for {
		message := raw(w.hear())
		if rawjson.GetText(message, "type") == "success" && len(list) == 0 {
			continue
		}
		params := member(message, "params")
		list = append(list, rawjson.GetText(message, "method")+" "+positionOf(rawjson.GetText(message, "event_id")))
		switch rawjson.GetText(member(params, "data"), "event") {
		case statusCompleted, statusInterrupted:
			return list
		}
	}
}

// A page subscribes twice and starts a run at once. It must receive all events of the run, in order, before the run's
// end, because it drops later ones.
func TestNoEventFollowsTheEndOfAFastRun(t *testing.T) {
	t.Parallel()
	for range 60 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			s := quick(w)
			s.settle = 300 * time.Millisecond // a busy machine may take that long to read three commands
			c := dial(t, serve(t, s, Snake))
			c.say(subscribe(`"channels":["lifecycle"]`))
			c.say(startRun)
			c.say(subscribe(`"channels":["updates"]`))
			if d := cmp.Diff([]string{"lifecycle 1.0", "updates 3.9", "updates 4.12", "lifecycle 5.0"}, c.events()); d != "" {
				t.Error(d)
			}
		})
	}
}

// If a subscription begins during a run, its past events are sent before the run's end, while the other subscriptions
// wait.
func TestASecondSubscriptionHasARunReplayedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := dial(t, serve(t, w.server(), Snake))
	run := twoSteps()
	w.play(runOf(1, "legacy"), run[:4]...)
	c.say(subscribe(`"channels":["lifecycle"]`))
	c.wants(`"type":"success"`)
	c.wants(`:1.0"`)
	c.say(subscribe(`"channels":["updates"]`))
	c.wants(`"type":"success"`)
	w.play(runOf(1, "legacy"), run[4:]...)
	if d := cmp.Diff([]string{"updates 3.9", "updates 4.12", "lifecycle 5.0"}, c.events()); d != "" {
		t.Error(d)
	}
}

// The end of a page's first turn must not end the second one. So a subscription begins with active runs, whether it
// arrives before the run or after it.
func TestASubscriptionOmitsEndedRuns(t *testing.T) {
	t.Parallel()
	over := func() *world { return newWorld().play(runOf(9, "legacy"), twoSteps()...) }
	turn := func(first string) []string { return []string{"lifecycle " + first + ".0"} }
	for name, tt := range map[string]struct {
		world    *world
		commands []string
		want     []string
	}{
		"a new socket, subscribed before the run": {over(), []string{subscribe(`"channels":["lifecycle"]`), startRun}, append(turn("6"), turn("10")...)},
		"a new socket, subscribed after the run":  {over(), []string{startRun, subscribe(`"channels":["lifecycle"]`)}, append(turn("6"), turn("10")...)},
		"with since":                              {over(), []string{subscribe(`"channels":["lifecycle"],"since":0`)}, append(turn("1"), turn("5")...)},
		"with the run":                            {newWorld().play(runOf(9, "legacy"), twoSteps()[:4]...), []string{subscribe(`"channels":["updates"]`), subscribe(`"channels":["lifecycle"]`)}, []string{"lifecycle 1.0", "updates 3.9", "updates 4.12", "lifecycle 5.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, serve(t, quick(tt.world), Snake))
			for _, command := range tt.commands {
				c.say(command)
				c.wants(`"type":"success"`)
			}
			if name == "with the run" {
				tt.world.play(runOf(9, "legacy"), succeeded())
			}
			if d := cmp.Diff(tt.want, c.events()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestASecondTurnOfASocketHasItsOwnEvents(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, quick(newWorld()), Snake))
	for _, want := range []string{"1.0 5.0", "6.0 10.0", "11.0 15.0"} {
		c.say(subscribe(`"channels":["lifecycle"]`))
		id := rawjson.GetText(member(raw(c.wants(`"subscription_id"`)), "result"), "subscription_id")
		c.say(startRun)
		if got := strings.ReplaceAll(strings.Join(c.events(), " "), "lifecycle ", ""); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		c.say(`{"id":3,"method":"subscription.unsubscribe","params":{"subscription_id":"` + id + `"}}`)
		c.wants(`"id":3`)
	}
}

// A reloaded page receives the open question of its thread and nothing from earlier runs.
func TestASubscriptionIncludesAWaitingRun(t *testing.T) {
	t.Parallel()
	w := newWorld().play(runOf(1, "legacy"), twoSteps()...).play(runOf(2, "legacy"), question()...)
	w.open = []mapping.Interrupt{{ID: "q1", Run: runOf(2, "").ID}}
	url := serve(t, w.server(), Snake)
	id := subscriptionID(filter{channels: []string{channelInput, channelLifecycle}, depth: -1})
	for _, command := range []string{
		subscribe(`"channels":["input","lifecycle"]`),
		`{"id":2,"method":"subscription.reconnect","params":{"run_id":"` + runOf(2, "").ID + `","subscriptions":["` + id + `"]}}`,
	} {
		c := dial(t, url)
		c.say(command)
		got := c.events()
		if d := cmp.Diff([]string{"lifecycle 6.0", "lifecycle 9.0"}, []string{got[0], got[len(got)-1]}); d != "" || len(got) != 3 {
			t.Errorf("%s: %s", got, d)
		}
	}
}

// A run of another client that began and ended while a socket had no subscription is over for that socket. The next
// turn of the socket ends with its own run.
func TestASocketOmitsRunsThatEndedWithoutASubscription(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][]string{
		"subscribed before the run": {subscribe(`"channels":["lifecycle"]`), startRun},
		"subscribed after the run":  {startRun, subscribe(`"channels":["lifecycle"]`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			c := dial(t, serve(t, quick(w), Snake))
			c.say(`{"id":1,"method":"state.get"}`) // the socket is open
			c.wants(`"id":1`)
			w.play(runOf(9, "legacy"), twoSteps()...)
			for _, command := range commands {
				c.say(command)
			}
			if d := cmp.Diff([]string{"lifecycle 6.0", "lifecycle 10.0"}, c.events()); d != "" {
				t.Error(d)
			}
		})
	}
}

// The reply to a subscription has the number of events from the log.
func TestASubscriptionSaysHowMuchIsReplayed(t *testing.T) {
	t.Parallel()
	run := twoSteps()
	for name, tt := range map[string]struct {
		world   *world
		members string
		want    string
	}{
		"nothing is there":     {newWorld(), `"channels":["updates"]`, "0"},
		"a run that is over":   {newWorld().play(runOf(1, "legacy"), run...), `"channels":["updates"]`, "0"},
		"a run at work":        {newWorld().play(runOf(1, "legacy"), run[:4]...), `"channels":["updates","lifecycle"]`, "3"},
		"from the start":       {newWorld().play(runOf(1, "legacy"), run...), `"channels":["updates","lifecycle"],"since":0`, "4"},
		"after an event":       {newWorld().play(runOf(1, "legacy"), run...), `"channels":["updates","lifecycle"],"since_event_id":"3.9"`, "2"},
		"a log of many events": {newWorld().play(runOf(1, "legacy"), slices.Repeat([]mapping.Event{started()}, mostCounted+1)...), `"channels":["lifecycle"],"since":0`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, serve(t, tt.world.server(), Snake))
			c.say(subscribe(tt.members))
			if got := string(member(member(raw(c.wants(`"type":"success"`)), "result"), "replayed_events")); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// A client that starts a run and then opens a stream must not mistake the end of the previous turn for the end of its
// run. Only the end of the newest run is replayed.
func TestAStreamOfASecondTurnDoesNotEndWithTheFirst(t *testing.T) {
	t.Parallel()
	first := func() *world { return newWorld().play(runOf(1, "graph"), started(), succeeded()) }
	both := func() *world { return first().play(runOf(2, "graph"), started()) }
	for name, tt := range map[string]struct {
		world  *world
		filter string
		want   []string
	}{
		"one run":          {first(), `{"channels":["lifecycle"]}`, []string{"lifecycle 1.0 running", "lifecycle 2.0 completed"}},
		"two runs":         {both(), `{"channels":["lifecycle"]}`, []string{"lifecycle 1.0 running", "lifecycle 3.0 running"}},
		"after a position": {both(), `{"channels":["lifecycle"],"since":1048576}`, []string{"lifecycle 2.0 completed", "lifecycle 3.0 running"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := listen(t, serve(t, tt.world.server(), Snake), tt.filter)
			if d := cmp.Diff(tt.want, heard(t, r, len(tt.want))); d != "" {
				t.Error(d)
			}
			if name == "two runs" {
				tt.world.play(runOf(2, "graph"), succeeded()).play(runOf(3, "graph"), started())
				if d := cmp.Diff([]string{"lifecycle 4.0 completed", "lifecycle 5.0 running"}, heard(t, r, 2)); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

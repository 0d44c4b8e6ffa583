package protocol

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

// turn is what a page shows of a run.
type turn struct {
	Text       string // of the messages
	Lifecycles []string
}

// page is a socket with the events that arrived while its subscriptions were made.
type page struct {
	*wire
	early []string
}

// subscribed reads up to the replies to this many commands.
func (p *page) subscribed(commands int) {
	p.t.Helper()
	for commands > 0 {
		message := p.hear()
		if rawjson.GetText(raw(message), "type") == "success" {
			commands--
		} else {
			p.early = append(p.early, message)
		}
	}
}

func (p *page) next() json.RawMessage {
	p.t.Helper()
	if len(p.early) == 0 {
		return raw(p.hear())
	}
	message := p.early[0]
	p.early = p.early[1:]
	return raw(message)
}

// readTurn reads the events up to the end of the run. Their sequence numbers must not decrease.
func (p *page) readTurn() (got turn) {
	p.t.Helper()
	for last := int64(-1); ; {
		message := p.next()
		params := member(message, "params")
		data := member(params, "data")
		ns, _ := textsOf(member(params, "namespace"))
		var seq int64
		if err := json.Unmarshal(member(message, "seq"), &seq); err != nil || seq < last {
			p.t.Fatalf("after %d comes %s, %v", last, message, err)
		}
		last = seq
		event := rawjson.GetText(data, "event")
		switch rawjson.GetText(message, "method") {
		case channelMessages:
			if event == "content-block-delta" {
				got.Text += rawjson.GetText(member(data, "delta"), "text")
			}
		case channelLifecycle:
			got.Lifecycles = append(got.Lifecycles, strings.Join(append([]string{"root"}, ns...), "|")+" "+event)
			if len(ns) == 0 && event == statusCompleted {
				return got
			}
		}
	}
}

// TestSixtySocketsHaveTheWholeRun checks that sockets that join a run at any point, each with two subscriptions, get all
// tokens, also those behind their node's output, the lifecycle of the inner graph, and the end of the run last.
func TestSixtySocketsHaveTheWholeRun(t *testing.T) {
	t.Parallel()
	const sockets, tokens = 60, 50
	text := strings.Repeat("tok ", tokens)
	events := append([]mapping.Event{started()}, slices.Repeat([]mapping.Event{piece("m1", "plan:t1", `"content":"tok "`)}, tokens-10)...)
	events = append(events, mapping.Event{Kind: mapping.KindUpdate, Data: raw(`{"messages":[{"id":"m1","type":"ai","content":"` + text + `"}]}`), Head: mapping.Head{Node: "plan"}})
	events = append(events, slices.Repeat([]mapping.Event{piece("m1", "plan:t1", `"content":"tok "`)}, 10)...)
	events = append(events, chunk("values", `{}`, "deep:t2"), chunk("tasks", `{"id":"t2","name":"deep","result":{},"interrupts":[]}`), succeeded())
	w := newWorld()
	url := serve(t, w.server(), Snake)
	var pages []*page
	played := 0
	for i := range sockets {
		c := &page{wire: dial(t, url)}
		c.say(subscribe(`"channels":["lifecycle"]`))
		c.say(subscribe(`"channels":["messages"]`))
		pages = append(pages, c)
		next := (len(events) - 1) * (i + 1) / sockets
		w.play(runOf(1, "graph"), events[played:next]...)
		played = next
	}
	for _, c := range pages { // a subscription of a run that is over gets nothing of it
		c.subscribed(2)
	}
	w.play(runOf(1, "graph"), events[played:]...)
	want := turn{Text: text, Lifecycles: []string{"root running", "root|deep:t2 started", "root|deep:t2 completed", "root completed"}}
	for i, c := range pages {
		if d := cmp.Diff(want, c.readTurn()); d != "" {
			t.Errorf("socket %d: %s", i, d)
		}
	}
}

// TestSixtySocketsHaveTheirSecondTurn checks that no second turn ends with the first one's events.
func TestSixtySocketsHaveTheirSecondTurn(t *testing.T) {
	t.Parallel()
	for range 60 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			c := dial(t, serve(t, quick(newWorld()), Snake))
			for n, want := range []string{"1.0 5.0", "6.0 10.0"} {
				c.say(subscribe(`"channels":["lifecycle"]`))
				id := rawjson.GetText(member(raw(c.wants(`"subscription_id"`)), "result"), "subscription_id")
				c.say(startRun)
				if got := strings.ReplaceAll(strings.Join(c.events(), " "), "lifecycle ", ""); got != want {
					t.Errorf("turn %d has %s, want %s", n, got, want)
				}
				c.say(`{"id":3,"method":"subscription.unsubscribe","params":{"subscription_id":"` + id + `"}}`)
				c.wants(`"id":3`)
			}
		})
	}
}

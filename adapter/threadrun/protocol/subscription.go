package protocol

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// mostSubscriptions is the maximum number of subscriptions of a connection.
const mostSubscriptions = 32

// subscription is a filter and the last event that the client has received.
type subscription struct {
	filter
	got position
}

// behind returns the number up to which the subscription is complete. It may lack some events that share the next
// number.
func (sub *subscription) behind() int64 {
	return max(sub.since, position{seq: sub.got.seq, k: min(sub.got.k, lastFrame-1)}.number())
}

// operation returns the operation of a command about the connection's subscriptions, or nil. It sets after to a
// function to be called after the reply, because a client must know a subscription before it receives its first event.
func (k *socket) operation(method string, after *func()) operation {
	switch method {
	case "subscription.subscribe":
		return func(c *command) (func(*writer), error) { return k.subscribe(c, after) }
	case "subscription.unsubscribe":
		return k.unsubscribe
	case "subscription.reconnect":
		return func(c *command) (func(*writer), error) { return k.reconnect(c, after) }
	default:
		return nil
	}
}

func (k *socket) subscribe(c *command, after *func()) (func(w *writer), error) {
	f, err := readFilter(c.params)
	if err == nil {
		err = k.s.checkSince(k.ctx, k.thread, f.since, c.before)
	}
	if err == nil && c.get("since") == nil && f.since == 0 {
		f.since, err = k.present(c)
	}
	if err != nil {
		return nil, err
	}
	if len(k.open) >= mostSubscriptions {
		return nil, invalid("A connection may have at most %d subscriptions. End one first.", mostSubscriptions)
	}
	write, err := k.replayed(&f, c.before)
	if err != nil {
		return nil, err
	}
	id := subscriptionID(f)
	*after = func() { k.beginSubscriptions(map[string]filter{id: f}) }
	return func(w *writer) { write(w.text("subscription_id", id)) }, nil
}

// mostCounted bounds the entries of the log that are read to count the events of a replay. The CDDL does not require a
// count.
const mostCounted = 10_000

// replayed returns a function that writes the number of events a subscription replays, up to last.
func (k *socket) replayed(f *filter, last int64) (write func(w *writer), err error) {
	var n int64
	switch behind := (last - f.since) / framesPerEntry; {
	case behind > mostCounted:
		return func(*writer) {}, nil
	case f.since < last:
		n, err = k.s.count(k.ctx, k.thread, f)
	}
	return func(w *writer) { w.int("replayed_events", n) }, err
}

// beginSubscriptions starts subscriptions after the client has received their ids in a reply.
func (k *socket) beginSubscriptions(list map[string]filter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, f := range list {
		if k.open[id] == nil {
			k.open[id] = &subscription{filter: f}
		}
	}
}

// present returns the number after which a subscription without a position begins: the start of the oldest run that is
// active or waiting for an answer. Earlier runs are excluded, because a client would mistake the end of one for the end
// of the run that it is about to start. A run counts as active until the socket has passed its end, so that the order
// of concurrent commands does not matter.
func (k *socket) present(c *command) (int64, error) {
	over := k.passed(c.before)
	from, err := k.s.Service.ThreadReplayStart(k.ctx, k.thread, adapter.Cursor{Seq: over + 1, K: -1, Start: true})
	if isNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	first := from.At.Seq
	questions, err := c.questions()
	if err != nil || len(questions) == 0 {
		return lastNumber(first), err
	}
	runs, err := c.askers(questions)
	if err != nil {
		return 0, err
	}
	for i := range runs {
		began, err := k.s.beginningOf(k.ctx, &runs[i])
		if err != nil {
			return 0, err
		}
		first = min(first, began)
	}
	return lastNumber(first), nil
}

// passed returns the entry up to which ended runs are not replayed. A socket that has no subscriptions and has started
// no run has passed everything so far.
func (k *socket) passed(now int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.open) == 0 && k.begun == 0 {
		k.over = max(k.over, now/framesPerEntry)
	}
	return k.over
}

// counting wraps an operation that starts a run, so that the socket counts the run as started by it.
func (k *socket) counting(start operation) operation {
	return func(c *command) (func(*writer), error) {
		k.passed(c.before)
		result, err := start(c)
		if err == nil {
			k.mu.Lock()
			k.begun++
			k.mu.Unlock()
		}
		return result, err
	}
}

func (k *socket) unsubscribe(c *command) (func(w *writer), error) {
	id, err := c.text("subscription_id", true)
	if err != nil {
		return nil, err
	}
	if k.open[id] == nil {
		return nil, noSubscription(id)
	}
	k.mu.Lock()
	delete(k.open, id)
	k.mu.Unlock()
	if len(k.open) == 0 {
		k.pumping.mu.Lock()
		defer k.pumping.mu.Unlock()
		k.halt()
	}
	return func(*writer) {}, nil
}

// reconnect resumes subscriptions of an earlier connection after the client's last event.
func (k *socket) reconnect(c *command, after *func()) (func(w *writer), error) {
	run, err := c.text("run_id", true)
	if err != nil {
		return nil, err
	}
	if _, err := c.runOr(run); err != nil {
		return nil, err
	}
	since, err := c.eventNumber("last_event_id")
	if err == nil {
		err = k.s.checkSince(k.ctx, k.thread, since, c.before)
	}
	if err == nil && since == 0 {
		since, err = k.present(c)
	}
	if err != nil {
		return nil, err
	}
	ids, ok := textsOf(c.get("subscriptions"))
	if !ok && c.get("subscriptions") != nil || len(ids)+len(k.open) > mostSubscriptions {
		return nil, invalid("subscriptions must be a list of at most %d ids.", mostSubscriptions)
	}
	list := map[string]filter{}
	for _, id := range ids {
		f, err := filterOf(id)
		if err != nil {
			return nil, err
		}
		f.since = since
		list[id] = f
	}
	*after = func() { k.beginSubscriptions(list) }
	return func(w *writer) { w.Key("restored").Bool(len(ids) > 0) }, nil
}

// savedFilter is the part of a filter that is encoded in the subscription's id, so that another connection can resume
// the subscription.
type savedFilter struct {
	Channels   []string   `json:"c"`
	Namespaces [][]string `json:"n,omitempty"`
	Depth      int        `json:"d"`
}

func subscriptionID(f filter) string {
	saved, _ := json.Marshal(savedFilter{f.channels, f.namespaces, f.depth}) // only strings and numbers
	return mapping.NewID() + "." + base64.RawURLEncoding.EncodeToString(saved)
}

func filterOf(id string) (filter, error) {
	var saved savedFilter
	_, text, _ := strings.Cut(id, ".")
	if raw, err := base64.RawURLEncoding.DecodeString(text); err != nil || json.Unmarshal(raw, &saved) != nil {
		return filter{}, noSubscription(id)
	}
	f := filter{channels: saved.Channels, namespaces: saved.Namespaces, depth: saved.Depth}
	if len(f.channels) == 0 || f.tooLong() {
		return filter{}, noSubscription(id)
	}
	return f, nil
}

func noSubscription(id string) error {
	return mapping.Errorf(mapping.NotFound, codeSubscription, "There is no subscription %q.", id)
}

package protocol

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// cursorOf returns the position in a thread's log of the event with a sequence number, or the start for 0.
func cursorOf(since int64) adapter.Cursor {
	if since == 0 {
		return adapter.Cursor{K: -1, Start: true}
	}
	c := adapter.Cursor{Seq: since / framesPerEntry, K: int(since % framesPerEntry)}
	if c.K == framesPerEntry-1 || c.Seq == 0 {
		c.K = -1 // the whole entry, as in lastNumber; a number from an earlier version may precede the first event
	}
	return c
}

// eventNumber returns the number of the event with an id. ok is false if no event can have it.
func eventNumber(id string) (number int64, ok bool) {
	if strings.HasPrefix(id, ofRun) {
		id = id[strings.LastIndex(id, ":")+1:]
	}
	seq, k, _ := strings.Cut(id, ".")
	n, err := strconv.ParseUint(seq, 10, 33)
	nth, err2 := strconv.ParseUint(k, 10, 31)
	if err != nil || err2 != nil {
		return 0, false
	}
	return position{seq: int64(n), k: int(nth)}.number(), true
}

// eventNumber returns the number of the event whose id is the value of a member, or 0 if the member is absent.
func (p *params) eventNumber(name string) (int64, error) {
	id, err := p.text(name, false)
	if err != nil || id == "" {
		return 0, err
	}
	number, ok := eventNumber(id)
	if !ok {
		return 0, invalid("%s must be the id of an event.", name)
	}
	return number, nil
}

// lastEvent returns the number of the event in Last-Event-ID, or 0 if the header is missing or -1.
func lastEvent(h http.Header) (int64, error) {
	id := strings.TrimSpace(h.Get("Last-Event-ID"))
	if id == "" || id == "-1" {
		return 0, nil
	}
	number, ok := eventNumber(id)
	if !ok {
		return 0, mapping.Errorf(mapping.Malformed, mapping.CodeInvalidCursor, "Last-Event-ID must be the id of an event of this thread, or -1.")
	}
	return number, nil
}

// checkSince refuses a position that the thread has not reached. It also refuses a position after which events were
// deleted, because clients would not notice the gap. last is the thread's current position, or 0 if it does not exist
// yet.
func (s *Server) checkSince(ctx context.Context, thread string, since, last int64) error {
	if since == 0 {
		return nil
	}
	if since > last {
		return mapping.Errorf(mapping.Malformed, mapping.CodeInvalidCursor,
			"Position %d is beyond the end of the thread's log. Leave it out to read the thread from its start.", since)
	}
	at, err := s.Service.ThreadPosition(ctx, thread, cursorOf(since))
	if err == nil {
		_, err = s.Service.ThreadReplayStart(ctx, thread, at)
	}
	if err != nil && mapping.Classify(err).Code == mapping.CodeCursorExpired {
		return mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Some events after position %d are no longer kept. Omit it to read the rest, and read the state again (state.get).", since)
	}
	return err
}

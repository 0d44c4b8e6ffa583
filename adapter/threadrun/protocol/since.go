package protocol

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// cursorOf is the position in a thread's log of the event with a sequence number; the start for 0.
func cursorOf(since int64) adapter.Cursor {
	if since == 0 {
		return adapter.Cursor{K: -1, Start: true}
	}
	c := adapter.Cursor{Seq: since / framesPerEntry, K: int(since % framesPerEntry)}
	if c.K == framesPerEntry-1 || c.Seq == 0 {
		c.K = -1 // as in through: all of the entry; a number of an earlier version may lie before the first
	}
	return c
}

// checkSince refuses a position that the thread has not come to, and one after which something is not kept any more:
// clients would take the gap for nothing having happened. last is where the thread is by now; 0 on one that is not
// there yet.
func (s *Server) checkSince(ctx context.Context, thread string, since, last int64) error {
	if since == 0 {
		return nil
	}
	if since > last {
		return mapping.Errorf(mapping.Malformed, mapping.CodeBadCursor,
			"Position %d lies beyond what the thread has logged. Leave it out to read the thread from its start.", since)
	}
	at, err := s.Service.ThreadLog.Position(ctx, thread, cursorOf(since))
	if err == nil {
		_, err = s.Service.ThreadLog.Opening(ctx, thread, at)
	}
	if err != nil && mapping.Classify(err).Code == mapping.CodeCursorExpired {
		return mapping.Errorf(mapping.Malformed, mapping.CodeCursorExpired,
			"Not all that came after position %d is kept any more. Leave it out to read what is kept, and read the state anew (state.get).", since)
	}
	return err
}

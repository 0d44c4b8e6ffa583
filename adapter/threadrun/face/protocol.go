package face

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/adapter/threadrun/protocol"
	"github.com/apbridge/apbridge/mapping"
)

// protocol returns the streaming protocol over this face's service.
func (s *server) protocol() *protocol.Server {
	return &protocol.Server{
		Service: s.svc, Start: s.startRunOfCommand, Log: s.log, Heartbeat: s.beat(),
		Depth: s.face.Limits.MaxJSONDepth, Message: int64(s.face.Limits.Body),
	}
}

// commandFields lists the fields of a run that a command adds. Clients did not send them, so they are not reported as
// lost.
var commandFields = []string{"stream_mode", "stream_subgraphs", "if_not_exists"}

// startRunOfCommand starts a run for a command, as the routes of runs do.
func (s *server) startRunOfCommand(ctx context.Context, start protocol.Start) (*adapter.Started, error) {
	o, err := request.Parse(start.Payload, s.face.Limits.MaxJSONDepth)
	if err != nil {
		return nil, err
	}
	q := readRunBody(o, start.Thread)
	q.Fields = slices.DeleteFunc(q.Fields, func(name string) bool { return slices.Contains(commandFields, name) })
	q.IdempotencyKey = start.Header.Get(adapter.IdempotencyKeyHeader)
	q.Retries, q.RetriesSet = retriesOf(o, start.Header)
	if err := o.Err(); err != nil {
		return nil, err
	}
	n := q.take()
	n.InputAnswers, n.Request = start.Answers, start.Command
	return s.svc.StartRun(ctx, n)
}

// postCommand executes one command of the streaming protocol.
func (s *server) postCommand(w http.ResponseWriter, r *http.Request) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	raw, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	answer, err := s.protocol().Command(r.Context(), thread, r.Header, raw)
	if err != nil {
		return err
	}
	if len(answer.Losses) > 0 {
		w.Header().Set("X-Apbridge-Unsupported", mapping.LossHeader(answer.Losses))
	}
	if answer.Ignored != "" {
		w.Header().Set(body.IgnoredHeader, answer.Ignored)
	}
	reply(w, http.StatusOK, answer.Body)
	return nil
}

// streamEvents streams a thread's events in the spelling of the SDKs. streamEventsCamel uses the spelling of the Agent
// Protocol's document.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request) error {
	return s.serveEvents(w, r, protocol.Snake)
}

func (s *server) streamEventsCamel(w http.ResponseWriter, r *http.Request) error {
	return s.serveEvents(w, r, protocol.Camel)
}

func (s *server) serveEvents(w http.ResponseWriter, r *http.Request, spelling protocol.Spelling) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	raw, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	return s.protocol().ServeEvents(w, r, thread, spelling, raw)
}

// openEventSocket streams a thread's events over a WebSocket.
func (s *server) openEventSocket(w http.ResponseWriter, r *http.Request) error {
	return s.serveSocket(w, r, protocol.Snake)
}

func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func (s *server) serveSocket(w http.ResponseWriter, r *http.Request, spelling protocol.Spelling) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	return s.protocol().ServeSocket(w, r, thread, spelling)
}

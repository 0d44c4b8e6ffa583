package face

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/protocol"
	"github.com/apbridge/apbridge/mapping"
)

// protocol is the streaming protocol over this face's service.
func (s *server) protocol() *protocol.Server {
	return &protocol.Server{
		Service: s.svc, Start: s.startFor, Log: s.log, Beat: s.beat(),
		Depth: s.face.Limits.Depth, Message: int64(s.face.Limits.Body),
	}
}

// commandFields are those of a run that a command starts which no client has sent: it loses
// nothing by them.
var commandFields = []string{"stream_mode", "stream_subgraphs", "if_not_exists"}

// startFor starts a run that a command asks for, as this face's own routes would.
func (s *server) startFor(ctx context.Context, thread string, header http.Header, payload json.RawMessage) (adapter.Started, error) {
	o, err := parseObject(payload, s.face.Limits.Depth)
	if err != nil {
		return adapter.Started{}, err
	}
	q := o.runRequest(thread)
	q.Fields = slices.DeleteFunc(q.Fields, func(name string) bool { return oneOf(name, commandFields) })
	q.IdempotencyKey = header.Get(idempotencyKey)
	q.Retries, q.RetriesSaid = o.retries(header)
	if err := o.err(); err != nil {
		return adapter.Started{}, err
	}
	return s.svc.Runs.Start(ctx, q.take())
}

// commands carries out one command of the streaming protocol.
func (s *server) commands(w http.ResponseWriter, r *http.Request) error {
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
		w.Header().Set("X-Apbridge-Lossy", mapping.LossHeader(answer.Losses))
	}
	reply(w, http.StatusOK, answer.Body)
	return nil
}

// streamEvents streams a thread's events in the spelling of the SDKs, streamEventsCamel in that
// of the Agent Protocol's document.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request) error {
	return s.events(w, r, protocol.Snake)
}

func (s *server) streamEventsCamel(w http.ResponseWriter, r *http.Request) error {
	return s.events(w, r, protocol.Camel)
}

func (s *server) events(w http.ResponseWriter, r *http.Request, spelling protocol.Spelling) error {
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

// streamEventsSocket is the WebSocket of streamEvents.
func (s *server) streamEventsSocket(w http.ResponseWriter, r *http.Request) error {
	return s.socket(w, r, protocol.Snake)
}

func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func (s *server) socket(w http.ResponseWriter, r *http.Request, spelling protocol.Spelling) error {
	thread, err := threadOf(r)
	if err != nil {
		return err
	}
	return s.protocol().ServeSocket(w, r, thread, spelling)
}

package inspect

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/gorilla/mux"
)

// An export never contains credentials. The service hides them in calls, and noCredentials hides those in the log, such
// as the client's.
var noCredentials credential.Set

// getCall returns a call with its bodies.
type getCall = func(n int64) (adapter.AgentCall, error)

// exportRun sends a run as lines of JSON, or the calls of its agent as an HTTP archive. An active run is sent as far as
// it is logged.
func (s *server) exportRun(w http.ResponseWriter, r *http.Request) error {
	form := mux.Vars(r)["form"]
	kind, ok := map[string]string{"ndjson": "application/x-ndjson", "har": "application/json"}[form]
	if !ok {
		return notFound("A run can be exported as ndjson or har.")
	}
	a, err := s.axis(r)
	if err != nil {
		return err
	}
	kept, err := s.Service.ListCalls(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	get := func(n int64) (adapter.AgentCall, error) { return s.Service.GetCall(r.Context(), refOf(r), n) }
	to := &heldResponse{w: w, setHeader: func(h http.Header) {
		h.Set("Content-Type", kind)
		h.Set("Content-Disposition", `attachment; filename="run-`+a.run.ID+`.`+form+`"`)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "private, no-store")
	}}
	if form == "har" {
		err = writeHAR(to, s.Version, kept.Calls, get)
	} else {
		err = writeLines(r.Context(), to, a, kept.Calls, get)
	}
	return to.end(err)
}

// heldResponse holds the first bytes of a response back, so that an early failure can still be answered with an error.
type heldResponse struct {
	w         http.ResponseWriter
	setHeader func(http.Header)
	held      bytes.Buffer
	sent      bool
}

const maxHeld = 64 << 10

func (b *heldResponse) Write(p []byte) (int, error) {
	if b.sent {
		return b.w.Write(p)
	}
	b.held.Write(p)
	if b.held.Len() < maxHeld {
		return len(p), nil
	}
	return len(p), b.send()
}

func (b *heldResponse) send() error {
	if b.sent {
		return nil
	}
	b.sent = true
	b.setHeader(b.w.Header())
	_, err := b.w.Write(b.held.Bytes())
	return err
}

// end completes the response, or aborts it if a part was sent before err.
func (b *heldResponse) end(err error) error {
	switch {
	case err == nil:
		_ = b.send() // the client may be gone
	case b.sent:
		panic(http.ErrAbortHandler)
	}
	return err
}

const linesVersion = 1

// runLine is the first line of an export.
type runLine struct {
	Version   int               `json:"apbridge_run"`
	RunID     string            `json:"run_id"`
	ThreadID  string            `json:"thread_id"`
	TaskID    string            `json:"task_id"`
	Agent     string            `json:"agent"`
	Flavour   mapping.Flavour   `json:"flavour"`
	Status    mapping.RunStatus `json:"status"`
	Attempt   int               `json:"attempt"`
	CreatedAt time.Time         `json:"created_at"`
	StartedAt time.Time         `json:"started_at,omitzero"`
	EndedAt   time.Time         `json:"ended_at,omitzero"`
	Fault     *mapping.Fault    `json:"error,omitempty"`
	Losses    []mapping.Loss    `json:"losses,omitempty"`
}

type eventLine struct {
	Event int64                  `json:"event"`
	At    time.Time              `json:"at"`
	Kind  mapping.Kind           `json:"kind"`
	Head  json.RawMessage        `json:"head"`
	Data  json.RawMessage        `json:"data,omitempty"`
	Seen  map[string][]frameLine `json:"seen"` // by dialect
}

type frameLine struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
	Note string `json:"note,omitempty"`
	Text string `json:"text"`
}

type exportedCall struct {
	adapter.AgentCall
	N        int64        `json:"call"`
	Sent     exportedPart `json:"sent"`
	Received exportedPart `json:"received"`
}

type exportedPart struct {
	Header   map[string]string `json:"header,omitempty"`
	Size     int64             `json:"size"`
	Cut      bool              `json:"cut,omitempty"` // the body is incomplete
	Body     string            `json:"body,omitempty"`
	Encoding string            `json:"encoding,omitempty"` // base64 unless the body is text
}

// writeLines writes a run as lines of JSON as visible to the principal of ctx: the run, each event of its log, and each
// kept call. It omits calls that are no longer kept.
func writeLines(ctx context.Context, w io.Writer, a *axis, calls []adapter.AgentCall, get getCall) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	if err := to.Encode(lineOfRun(&a.run)); err != nil {
		return err
	}
	var failed error
	err := a.each(ctx, func(e *state.Entry, seen [][]adapter.Frame) bool {
		var line eventLine
		if line, failed = lineOfEvent(mapping.PrincipalOf(ctx), a, e, seen); failed == nil {
			failed = to.Encode(line)
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	for i := 0; i < len(calls) && err == nil; i++ {
		var c adapter.AgentCall
		if c, err = get(calls[i].N); err == nil {
			err = to.Encode(exportedCall{AgentCall: c, N: c.N, Sent: exportPart(&c.Sent), Received: exportPart(&c.Received)})
		} else if isNotFound(err) {
			err = nil
		}
	}
	return err
}

func lineOfRun(r *mapping.Run) runLine {
	return runLine{linesVersion, r.ID, r.ThreadID, r.TaskID, r.Agent, r.Flavour, r.Status, r.Attempt, r.CreatedAt, r.StartedAt, r.EndedAt, hiddenFault(r.Fault), r.Options.Losses}
}

func lineOfEvent(who mapping.Principal, a *axis, e *state.Entry, seen [][]adapter.Frame) (eventLine, error) {
	head, err := json.Marshal(visibleHead(who, &e.Head))
	line := eventLine{e.Seq, e.At, e.Kind, noCredentials.HideBytes(head), noCredentials.HideBytes(e.Data), map[string][]frameLine{}}
	for c, list := range seen {
		dialect := a.columns[c].dialect
		for _, f := range list {
			line.Seen[dialect] = append(line.Seen[dialect], frameLine{f.Name, f.ID, f.Note, noCredentials.Hide(string(f.Bytes()))})
		}
	}
	return line, err
}

func exportPart(p *adapter.CallPart) exportedPart {
	text, encoding := encodeBody(p.Body)
	return exportedPart{p.Header, p.Size, p.Cut(), text, encoding}
}

// encodeBody returns a body as a JSON string.
func encodeBody(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}

func hiddenFault(f *mapping.Fault) *mapping.Fault {
	if f == nil {
		return nil
	}
	said := *f
	said.Name = noCredentials.Hide(said.Name)
	said.Message = noCredentials.Hide(said.Message)
	return &said
}

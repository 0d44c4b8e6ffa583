package inspect

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
	"github.com/apbridge/apbridge/mapping"
)

// A form never acts at once: its first POST is answered by a page that says what would be done, to which agent, with
// the same form behind a button. That page's POST has sure=yes, and a key by which it acts once, however often it is
// sent. The audit log has the second, with who sent it; the first does nothing but read.

var actRoutes = []route{
	{"POST", "/threads/{thread_id}/answer", acting, adapter.Effect{Verb: mapping.Answered, Kind: "run"}, func(s *server) serve { return s.answer.serve }},
	{"POST", "/threads/{thread_id}/fork", acting, adapter.Effect{Verb: mapping.Created, Kind: "run"}, func(s *server) serve { return s.fork.serve }},
	{"POST", "/runs/{run_id}/cancel", acting, adapter.Effect{Verb: mapping.Cancelled, Kind: "run"}, func(s *server) serve { return s.cancel.serve }},
	{"GET", "/runs/{run_id}/again", looking, adapter.Effect{Verb: mapping.Read, Kind: "run"}, func(s *server) serve { return s.again.show }},
	{"POST", "/runs/{run_id}/again", acting, adapter.Effect{Verb: mapping.Created, Kind: "run"}, func(s *server) serve { return s.again.serve }},
}

// Inputs of each form that acts.
const (
	inputSure = "sure" // yes: it is to be done
	inputOnce = "once" // the request's idempotency key
)

var sureHTML = newPage("sure", "runs")

// confirmation is the page that asks before something is done.
type confirmation struct {
	Question string        `json:"question"`
	Says     []string      `json:"says"`             // sentences
	Sends    string        `json:"sends,omitempty"`  // what the agent is sent, as far as it is shown
	Fields   []hiddenField `json:"fields,omitempty"` // that the request which acts has to have
	Button   string        `json:"-"`
	Back     string        `json:"-"` // relative to the root of the bridge
}

type hiddenField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// confirm asks a person to confirm what is to be done. Fields are what the second request brings along.
func (d *renderer) confirm(w http.ResponseWriter, r *http.Request, c confirmation, fields ...string) error {
	mapping.SetAuditVerb(r.Context(), mapping.Read) // nothing is done yet
	for n := 0; n+1 < len(fields); n += 2 {
		c.Fields = append(c.Fields, hiddenField{fields[n], fields[n+1]})
	}
	c.Fields = append(c.Fields, hiddenField{inputSure, "yes"}, hiddenField{inputOnce, mapping.NewID()})
	return d.show(w, r, sureHTML, c.Question, c)
}

// done leads a browser to what came of it, by a way from the root of the bridge, and tells all others.
func (d *renderer) done(w http.ResponseWriter, r *http.Request, to string, told any) error {
	if !page.Wanted(r.Header) {
		return writeJSON(w, r, told)
	}
	// Relative, since the root of the bridge may lie below a path of a proxy's: http.Redirect would make it absolute.
	w.Header().Set("Location", page.RootOf(r.URL.Path)+to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// started is what is told of a run that was made.
type started struct {
	RunID    string         `json:"run_id"`
	ThreadID string         `json:"thread_id"`
	Losses   []mapping.Loss `json:"losses,omitempty"`
}

func startedOf(s *adapter.Started) started { return started{s.Run.ID, s.Run.ThreadID, s.Losses} }

// starting makes runs, for the acts that have an agent work.
type starting struct {
	*renderer
	runs     starter
	agents   agentResolver // asked first: what cannot be done needs no confirmation
	dialects adapter.Dialects
}

// agentResolver is part of adapter.Assistants.
type agentResolver interface {
	GetAssistant(ctx context.Context, idOrName string) (mapping.Assistant, error)
}

// starter is part of adapter.Runs.
type starter interface {
	StartRun(ctx context.Context, n *adapter.RunRequest) (*adapter.Started, error)
	FindRepeatedRun(ctx context.Context, n *adapter.RunRequest) (*adapter.Started, error)
}

// start makes a run and leads to its thread.
func (s *starting) start(w http.ResponseWriter, r *http.Request, n adapter.RunRequest) error {
	made, err := s.runs.StartRun(r.Context(), &n)
	if err != nil {
		return err
	}
	return s.done(w, r, threadPath(made.Run.ThreadID), startedOf(made))
}

// flavour is that of a run which is gone on from, "" where there is none: then that of a table's first dialect, since
// the inspector has none of its own.
func (s *starting) flavour(of mapping.Flavour) mapping.Flavour {
	for _, d := range s.dialects {
		if len(d.Flavours) > 0 {
			return cmp.Or(of, d.Flavours[0].Name)
		}
	}
	return of
}

// Inputs of the forms that make runs.
const (
	inputAgent      = "agent"
	inputCheckpoint = "checkpoint"
	inputSays       = "says"  // a message of a person
	inputJSON       = "input" // the input as JSON
	inputWhere      = "where" // the thread of a run that is made again
)

func runPath(id string) string { return "inspect/runs/" + url.PathEscape(id) }

func threadPath(id string) string { return "inspect/threads/" + url.PathEscape(id) }

// madeBy words the owner of something, the key that made it.
func madeBy(owner string) string {
	if owner == "" {
		return "a caller without a key"
	}
	return fmt.Sprintf("the key %q", owner)
}

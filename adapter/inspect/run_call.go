package inspect

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/timeline"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
)

var callRoutes = []route{
	{"GET", "/runs/{run_id}/calls/{n}", looking, readsRun, func(s *server) serve { return s.call.serve }},
	{"GET", "/runs/{run_id}/calls/{n}/{side}", looking, readsRun, func(s *server) serve { return s.call.serveBytes }},
}

var callHTML = newPage("call", "runs", "run.css")

// callView is one call of the agent, with both bodies.
type callView struct {
	RunID string    `json:"run_id"`
	At    time.Time `json:"at"`
	*timeline.Call
	Asked    partView `json:"sent"`
	Answered partView `json:"received"`
	Withheld string   `json:"withheld,omitempty"` // why the bodies are not shown
}

// partView is one half of it.
type partView struct {
	Headers []header `json:"headers"`
	Size    int64    `json:"size"`
	Kept    int      `json:"kept"`
	Cut     bool     `json:"cut"` // there was more than is kept
	Text    excerpt  `json:"text"`
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// callPage shows one call of an agent, and its bodies.
type callPage struct {
	*renderer
	calls adapter.Runs
}

func (p *callPage) serve(w http.ResponseWriter, r *http.Request) error {
	c, err := p.call(r)
	if err != nil {
		return err
	}
	return p.show(w, r, callHTML, "Call "+strconv.FormatInt(c.N, 10), viewOfCall(refOf(r).RunID, &c))
}

// list returns the calls of a run, without their bodies.
func (p *callPage) list(r *http.Request) (adapter.KeptCalls, error) {
	return p.calls.ListCalls(r.Context(), refOf(r))
}

func (p *callPage) call(r *http.Request) (c adapter.AgentCall, err error) {
	ref, text := refOf(r), mux.Vars(r)["n"]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return c, adapter.NoCall(ref.RunID, 0)
	}
	return p.calls.GetCall(r.Context(), ref, n)
}

func viewOfCall(run string, c *adapter.AgentCall) callView {
	v := callView{RunID: run, At: c.At, Call: timeline.CallOf(c), Asked: viewOfPart(&c.Sent), Answered: viewOfPart(&c.Received)}
	if c.Withheld {
		v.Withheld = withheld
	}
	return v
}

const withheld = "The bodies are not shown: they may hold items of the long-term store outside of the namespaces of the key."

func viewOfPart(p *adapter.CallPart) partView {
	v := partView{Headers: []header{}, Size: p.Size, Kept: p.Kept, Cut: p.Cut(), Text: excerptOf(p.Body)}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		v.Headers = append(v.Headers, header{name, p.Header[name]})
	}
	return v
}

// serveBytes sends a body as it is kept, which a browser never shows.
func (p *callPage) serveBytes(w http.ResponseWriter, r *http.Request) error {
	c, err := p.call(r)
	if err != nil {
		return err
	}
	name := mux.Vars(r)["side"]
	part, ok := map[string]*adapter.CallPart{"sent": &c.Sent, "received": &c.Received}[name]
	if !ok {
		return mapping.Errorf(mapping.NotFound, codeNotFound, "A call has the parts sent and received.")
	}
	if c.Withheld {
		return mapping.Errorf(mapping.Forbidden, "forbidden", withheld)
	}
	return sendBytes(w, "call-"+strconv.FormatInt(c.N, 10)+"-"+name, part.Body)
}

// answered is the newest call that went wrong; nil: none that is kept did.
func (p *callPage) answered(ctx context.Context, run string, calls []*timeline.Call) (*callView, error) {
	for _, c := range slices.Backward(calls) {
		if !c.Failed() {
			continue
		}
		whole, err := p.calls.GetCall(ctx, adapter.RunRef{RunID: run}, c.N)
		if err != nil {
			if mapping.Classify(err).Class == mapping.NotFound {
				return nil, nil // it was dropped meanwhile
			}
			return nil, err
		}
		v := viewOfCall(run, &whole)
		return &v, nil
	}
	return nil, nil
}

// sendBytes sends bytes that come from outside as a file of plain text.
func sendBytes(w http.ResponseWriter, name string, b []byte) error {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`.txt"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // the client may be gone
	return nil
}

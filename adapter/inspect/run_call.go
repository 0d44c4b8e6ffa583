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
	{"GET", "/runs/{run_id}/calls/{n}", looking, readsRun, (*inspector).serveCall},
	{"GET", "/runs/{run_id}/calls/{n}/{side}", looking, readsRun, (*inspector).serveCallBytes},
}

var callPage = newPage("call", "runs", "run.css")

// callView is one call of the agent, with both bodies.
type callView struct {
	RunID string    `json:"run_id"`
	At    time.Time `json:"at"`
	*timeline.Call
	Asked    partView `json:"sent"`
	Answered partView `json:"received"`
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

func (i *inspector) serveCall(w http.ResponseWriter, r *http.Request) error {
	c, err := i.call(r)
	if err != nil {
		return err
	}
	return i.show(w, r, callPage, "Call "+strconv.FormatInt(c.N, 10), viewOfCall(refOf(r).RunID, &c))
}

func (i *inspector) call(r *http.Request) (c adapter.AgentCall, err error) {
	ref, text := refOf(r), mux.Vars(r)["n"]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return c, adapter.NoCall(ref.RunID, 0)
	}
	return i.Service.Calls.Get(r.Context(), ref, n)
}

func viewOfCall(run string, c *adapter.AgentCall) callView {
	return callView{run, c.At, timeline.CallOf(c), viewOfPart(&c.Sent), viewOfPart(&c.Received)}
}

func viewOfPart(p *adapter.CallPart) partView {
	v := partView{Headers: []header{}, Size: p.Size, Kept: p.Kept, Cut: p.Cut(), Text: excerptOf(p.Body)}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		v.Headers = append(v.Headers, header{name, p.Header[name]})
	}
	return v
}

// serveCallBytes sends a body as it is kept, which a browser never shows.
func (i *inspector) serveCallBytes(w http.ResponseWriter, r *http.Request) error {
	c, err := i.call(r)
	if err != nil {
		return err
	}
	name := mux.Vars(r)["side"]
	part, ok := map[string]*adapter.CallPart{"sent": &c.Sent, "received": &c.Received}[name]
	if !ok {
		return mapping.Errorf(mapping.NotFound, codeNotFound, "A call has the parts sent and received.")
	}
	return sendBytes(w, "call-"+strconv.FormatInt(c.N, 10)+"-"+name, part.Body)
}

// answered is the newest call that went wrong; nil: none that is kept did.
func (i *inspector) answered(ctx context.Context, run string, calls []*timeline.Call) (*callView, error) {
	for _, c := range slices.Backward(calls) {
		if !c.Failed() {
			continue
		}
		whole, err := i.Service.Calls.Get(ctx, adapter.RunRef{RunID: run}, c.N)
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

package inspect

import (
	"bytes"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/inspect/export"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"github.com/gorilla/mux"
)

// runExports are runs as files.
type runExports struct {
	axes    *axes
	calls   adapter.Runs
	version string // of the bridge
}

// serve sends a run as a file: as lines of JSON, or the calls of its agent as an HTTP archive. Of a run that goes on it
// has what there is by now.
func (x *runExports) serve(w http.ResponseWriter, r *http.Request) error {
	form := mux.Vars(r)["form"]
	kind, ok := map[string]string{"ndjson": "application/x-ndjson", "har": "application/json"}[form]
	if !ok {
		return mapping.Errorf(mapping.NotFound, codeNotFound, "A run is exported as ndjson or as har.")
	}
	a, err := x.axes.axis(r)
	if err != nil {
		return err
	}
	kept, err := x.calls.ListCalls(r.Context(), refOf(r))
	if err != nil {
		return err
	}
	get := func(n int64) (adapter.AgentCall, error) { return x.calls.GetCall(r.Context(), refOf(r), n) }
	to := &begins{w: w, begin: func(h http.Header) {
		h.Set("Content-Type", kind)
		h.Set("Content-Disposition", `attachment; filename="run-`+a.Run.ID+`.`+form+`"`)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "private, no-store")
	}}
	if form == "har" {
		err = export.HAR(to, x.version, kept.Calls, get)
	} else {
		err = export.Lines(to, mapping.PrincipalOf(r.Context()), a, func(f func(*state.Entry, [][]adapter.Frame) bool) error { return a.Each(r.Context(), f) }, kept.Calls, get)
	}
	return to.end(err)
}

// begins is an answer whose header is written when there is enough of it to be sent: what fails before has an error for
// its answer.
type begins struct {
	w     http.ResponseWriter
	begin func(http.Header)
	held  bytes.Buffer
	begun bool
}

const heldMost = 64 << 10

func (b *begins) Write(p []byte) (int, error) {
	if b.begun {
		return b.w.Write(p)
	}
	b.held.Write(p)
	if b.held.Len() < heldMost {
		return len(p), nil
	}
	return len(p), b.send()
}

func (b *begins) send() error {
	if b.begun {
		return nil
	}
	b.begun = true
	b.begin(b.w.Header())
	_, err := b.w.Write(b.held.Bytes())
	return err
}

// end sends what is held, or breaks off what cannot be finished.
func (b *begins) end(err error) error {
	switch {
	case err == nil:
		_ = b.send() // the client may be gone
	case b.begun:
		panic(http.ErrAbortHandler)
	}
	return err
}

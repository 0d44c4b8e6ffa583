package face

import (
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/render"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
)

func (s *server) createRunAndStream(w http.ResponseWriter, r *http.Request) error {
	v, cancel, err := s.startRunView(w, r)
	if err != nil {
		return err
	}
	return s.streamRun(w, r, v, cancel)
}

func (s *server) startRunView(w http.ResponseWriter, r *http.Request) (v *render.View, cancel bool, err error) {
	q, started, err := s.startRun(w, r, "stream")
	if err != nil {
		return nil, false, err
	}
	started.Run.Options.Subgraphs = q.Subgraphs
	v = render.NewView(&started.Run, render.ModesOf(q.StreamModes), adapter.Cursor{K: -1, Start: true})
	v.Within(namespaces(r))
	return v, q.cancel, nil
}

// namespaces are those that a reader's query names, their parts joined by "|" as in the names of frames; "" is the
// root. Source: streamNamespaces of the LangGraph SDK.
func namespaces(r *http.Request) []string { return r.URL.Query()["namespace"] }

// joinRunStream follows a run that was started elsewhere, in the modes asked for, or in those it was made with.
func (s *server) joinRunStream(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	names := q.Texts("stream_mode")
	cancel := q.Flag("cancel_on_disconnect")
	if err := firstOf(q.Err(), checkModes(names)); err != nil {
		return err
	}
	after, err := render.CursorOf(r.Header)
	if err != nil {
		return err
	}
	if id := q.UUID("checkpoint_id"); id != "" && (after.Start || after.Live) {
		after = adapter.Cursor{K: -1, Checkpoint: id}
	}
	if err := q.Err(); err != nil {
		return err
	}
	return s.followRun(w, r, names, after, cancel)
}

// resumeRunStream is join with what it needs in the body.
func (s *server) resumeRunStream(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	names := o.TextOrTexts("stream_mode", langGraphModes)
	cancel := o.Flag("cancel_on_disconnect", false)
	id, given := o.Text("last_event_id"), o.Get("last_event_id") != nil
	if err := o.Err(); err != nil {
		return err
	}
	after, err := render.CursorOf(r.Header)
	if given {
		after, err = render.ParseCursor(id)
	}
	if err != nil {
		return err
	}
	return s.followRun(w, r, names, after, cancel)
}

func checkModes(names []string) error {
	for _, n := range names {
		if !slices.Contains(langGraphModes, n) {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
				"stream_mode names the unknown mode %q; there are %s.", n, strings.Join(langGraphModes, ", "))
		}
	}
	return nil
}

func (s *server) followRun(w http.ResponseWriter, r *http.Request, names []string, after adapter.Cursor, cancel bool) error {
	v, err := s.followRunView(w, r, names, after, cancel)
	if err != nil {
		return err
	}
	return s.streamRun(w, r, v, cancel)
}

func (s *server) followRunView(w http.ResponseWriter, r *http.Request, names []string, after adapter.Cursor, cancel bool) (*render.View, error) {
	ref, err := refOf(r)
	if err != nil {
		return nil, err
	}
	if err := mayCancel(r, cancel); err != nil {
		return nil, err
	}
	run, err := s.svc.GetRun(readerContext(r, cancel), ref)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = run.Options.StreamModes
	}
	at := "/runs/" + run.ID
	if isStateless(r) {
		w.Header().Set("Content-Location", at)
	} else {
		at = "/threads/" + run.ThreadID + at
	}
	w.Header().Set("Location", at+"/stream")
	v := render.NewView(run, render.ModesOf(names), after)
	v.Within(namespaces(r))
	return v, nil
}

package face

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

func (s *server) streamThread(w http.ResponseWriter, r *http.Request) error {
	return s.startAndStream(w, r)
}

func (s *server) streamStateless(w http.ResponseWriter, r *http.Request) error {
	return s.startAndStream(w, r)
}

func (s *server) startAndStream(w http.ResponseWriter, r *http.Request) error {
	v, cancel, err := s.startView(w, r)
	if err != nil {
		return err
	}
	return s.stream(w, r, v, cancel)
}

func (s *server) startView(w http.ResponseWriter, r *http.Request) (v *view, cancel bool, err error) {
	q, started, err := s.start(w, r, "stream")
	if err != nil {
		return nil, false, err
	}
	run := started.Run
	run.Options.Subgraphs = q.Subgraphs
	return newView(&run, modeSet(q.StreamModes), adapter.Cursor{K: -1, Start: true}), q.cancel, nil
}

// joinStream follows a run that was started elsewhere, in the modes asked for,
// or in those it was made with.
func (s *server) joinStream(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	names := q.texts("stream_mode")
	cancel := q.flag("cancel_on_disconnect")
	if err := firstOf(q.err(), checkModes(names)); err != nil {
		return err
	}
	after, err := cursorOf(r.Header)
	if err != nil {
		return err
	}
	return s.follow(w, r, names, after, cancel)
}

// resumeStream is joinStream with what it needs in the body.
func (s *server) resumeStream(w http.ResponseWriter, r *http.Request) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	names := o.textOrTexts("stream_mode", langGraphModes)
	cancel := o.flag("cancel_on_disconnect", false)
	id, given := o.text("last_event_id"), o.get("last_event_id") != nil
	if err := o.err(); err != nil {
		return err
	}
	after, err := cursorOf(r.Header)
	if given {
		after, err = parseCursor(id)
	}
	if err != nil {
		return err
	}
	return s.follow(w, r, names, after, cancel)
}

func checkModes(names []string) error {
	for _, n := range names {
		if !oneOf(n, langGraphModes) {
			return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
				"stream_mode names the unknown mode %q; there are %s.", n, strings.Join(langGraphModes, ", "))
		}
	}
	return nil
}

func (s *server) follow(w http.ResponseWriter, r *http.Request, names []string, after adapter.Cursor, cancel bool) error {
	v, err := s.followView(w, r, names, after, cancel)
	if err != nil {
		return err
	}
	return s.stream(w, r, v, cancel)
}

func (s *server) followView(w http.ResponseWriter, r *http.Request, names []string, after adapter.Cursor, cancel bool) (*view, error) {
	ref, err := refOf(r)
	if err != nil {
		return nil, err
	}
	run, err := s.svc.Runs.Get(readerContext(r, cancel), ref)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = run.Options.StreamModes
	}
	at := "/runs/" + run.ID + "/stream"
	if !isStateless(r) {
		at = "/threads/" + run.ThreadID + at
	}
	w.Header().Set("Location", at)
	return newView(&run, modeSet(names), after), nil
}

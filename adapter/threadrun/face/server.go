package face

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// server serves the dialect's routes. It keeps no state and is safe for concurrent use.
type server struct {
	svc      adapter.Service
	face     adapter.Face
	log      *zap.Logger
	waitBeat time.Duration // pause after which a silent wait sends a line break
}

// Mount adds the face's routes to r. They respond from svc.
func Mount(r *mux.Router, svc adapter.Service, face adapter.Face) {
	s := &server{svc: svc, face: face, log: face.Log, waitBeat: 15 * time.Second}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	s.mount(r)
}

func (s *server) mount(r *mux.Router) {
	served := s.endpoints()
	words := map[string]bool{} // paths without a variable
	for _, e := range served {
		words[e.path] = !strings.Contains(e.path, "{")
	}
	// A template that ends in an id must not match a fixed path. GET /runs/wait is a wrong method, not a run with an
	// invalid id.
	noWord := func(r *http.Request, _ *mux.RouteMatch) bool { return !words[r.URL.Path] }
	for _, e := range served {
		route := r.Handle(e.path, adapter.Operation{Handler: s.handle(e.serve), Needs: e.needs}).Methods(e.method)
		if endsInID(e.path) {
			route.MatcherFunc(noWord)
		}
	}
	for _, u := range unsupported {
		refuse := func(http.ResponseWriter, *http.Request) error {
			return mapping.Errorf(mapping.NotFound, mapping.CodeNotSupported, "Not supported here: %s.", u.what)
		}
		r.Handle(u.path, adapter.Anybody(s.handle(refuse))).Methods(u.method)
	}
	r.NewRoute().Handler(adapter.Anybody(s.handle(func(w http.ResponseWriter, r *http.Request) error {
		var allowed []string
		for _, e := range served {
			if matches(e.path, r.URL.Path) && !(words[r.URL.Path] && endsInID(e.path)) {
				allowed = append(allowed, e.method)
			}
		}
		return noRoute(w, allowed)
	})))
}

// noRoute returns the error for a request without a matching route: 405 if the path accepts other methods, otherwise
// 404.
func noRoute(w http.ResponseWriter, allowed []string) error {
	if len(allowed) == 0 {
		return mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is no such route. See /docs for the available routes.")
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return mapping.Errorf(mapping.NotAllowed, "method_not_allowed", "This route accepts %s.", strings.Join(allowed, " or "))
}

func (s *server) handle(serve handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := fault(r)
		if err == nil {
			err = serve(w, r)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// fault returns an error if the query or headers of a request are invalid for every operation.
func fault(r *http.Request) error {
	return cmp.Or(queryFault(r.URL.RawQuery), keyFault(r.Header))
}

// queryFault refuses parameters that are not text and those that Go's query parser would silently drop.
func queryFault(raw string) error {
	if raw == "" {
		return nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
			"The query string cannot be parsed: parameters are name=value, joined by &, with other characters as %%XX. Encode the values.")
	}
	var errs []request.Problem
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(values[name], func(v string) bool { return !mapping.IsText(v) }) {
			errs = append(errs, request.NoText(name))
		}
	}
	return request.Invalid(errs)
}

// keyFault refuses an Idempotency-Key that is not text.
func keyFault(h http.Header) error {
	if mapping.IsText(h.Get(adapter.IdempotencyKeyHeader)) {
		return nil
	}
	return request.Invalid([]request.Problem{request.NoText(adapter.IdempotencyKeyHeader)})
}

func endsInID(template string) bool {
	return strings.HasSuffix(template, "/{thread_id}") || strings.HasSuffix(template, "/{run_id}") || strings.HasSuffix(template, "/{cron_id}")
}

// matches reports whether a path matches a template with {names}.
func matches(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if strings.HasPrefix(want[i], "{") {
			if have[i] == "" {
				return false
			}
		} else if want[i] != have[i] {
			return false
		}
	}
	return true
}

// routeOf returns the template of the request's route, for logs.
func routeOf(r *http.Request) string {
	if route := mux.CurrentRoute(r); route != nil {
		if t, err := route.GetPathTemplate(); err == nil {
			return r.Method + " " + t
		}
	}
	return r.Method
}

// pathUUID reads an id from the path.
func pathUUID(r *http.Request, name string) (string, error) {
	id := strings.ToLower(mux.Vars(r)[name])
	if !mapping.IsUUID(id) {
		e := mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "%s must be a UUID.", name)
		e.Detail = []request.Problem{{Field: name, Message: name + " must be a UUID"}}
		return "", e
	}
	return id, nil
}

// threadOf reads {thread_id}.
func threadOf(r *http.Request) (string, error) { return pathUUID(r, "thread_id") }

// refOf reads {run_id}, and {thread_id} if the route has it.
func refOf(r *http.Request) (ref adapter.RunRef, err error) {
	if _, ok := mux.Vars(r)["thread_id"]; ok {
		if ref.ThreadID, err = threadOf(r); err != nil {
			return ref, err
		}
	}
	ref.RunID, err = pathUUID(r, "run_id")
	return ref, err
}

// readBody reads a JSON request body. It returns nil if there is none.
func (s *server) readBody(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	return request.Read(w, r, int64(s.face.Limits.Body))
}

// request reads the fields of a body. An empty body is refused if mandatory is true.
func (s *server) request(w http.ResponseWriter, r *http.Request, mandatory bool) (*request.Fields, error) {
	raw, err := s.readBody(w, r)
	if err != nil {
		return nil, err
	}
	if raw == nil && mandatory {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body is empty; it must be a JSON object.")
	}
	o, err := request.Parse(raw, s.face.Limits.MaxJSONDepth)
	if err == nil {
		o.ReportIgnoredIn(w.Header())
	}
	return o, err
}

// count responds with the number of objects that match the filters, which read takes from the body.
func count[Q any](s *server, w http.ResponseWriter, r *http.Request, read func(*request.Fields) Q, of func(context.Context, Q) (int, error)) error {
	o, err := s.request(w, r, false)
	if err != nil {
		return err
	}
	q := read(o)
	if err := o.Err(); err != nil {
		return err
	}
	n, err := of(r.Context(), q)
	if err != nil {
		return err
	}
	return replyJSON(w, n)
}

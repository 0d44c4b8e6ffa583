package face

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/gorilla/mux"
	"go.uber.org/zap"
)

// server is what the handlers of all routes share. It keeps no state. The handlers stand in one type for each noun,
// which is a server by another name: threads(s) has those of threads.
type server struct {
	svc  adapter.Service
	face adapter.Face
	log  *zap.Logger
	// waitBeat is how long a wait may be silent before it sends a line break.
	waitBeat time.Duration
}

// handler answers one request, or returns why not; then nothing was written.
type handler func(s *server, w http.ResponseWriter, r *http.Request) error

// Mount adds the face's routes to r, the busy ones first: the router tries routes in their order.
func Mount(r *mux.Router, svc adapter.Service, face adapter.Face) {
	s := &server{svc: svc, face: face, log: face.Log, waitBeat: 15 * time.Second}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	s.mount(r)
}

func (s *server) mount(r *mux.Router) {
	for _, e := range endpoints {
		route := r.Handle(e.path, adapter.Operation{Handler: s.answering(e), Needs: e.needs}).Methods(e.method)
		if endsInID(e.path) {
			route.MatcherFunc(isNoWord)
		}
	}
	r.NewRoute().Handler(adapter.Anybody(s.answering(endpoint{serve: (*server).unknown})))
}

func (s *server) answering(e endpoint) http.Handler {
	return &answering{s, e.serve, opensStream[e.method+" "+e.path]}
}

// answering answers the requests for an endpoint.
type answering struct {
	*server
	serve  handler
	stream bool // it answers with one, which is counted
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.answer(w, r); err != nil {
		a.fail(w, r, err)
	}
}

func (a *answering) answer(w http.ResponseWriter, r *http.Request) error {
	if err := fault(r); err != nil {
		return err
	}
	if a.stream {
		done, err := adapter.OpenStream(r.Context())
		if err != nil {
			return err
		}
		defer done()
	}
	return a.serve(a.server, w, r)
}

// fault refuses what no operation can be asked for with.
func fault(r *http.Request) error {
	return firstOf(queryFault(r.URL.RawQuery), keyFault(r.Header))
}

// queryFault refuses what Go's reader of queries would leave out in silence, as if the parameter had not been sent, and
// parameters that are no text.
func queryFault(raw string) error {
	if raw == "" {
		return nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid,
			"The query behind the ? cannot be read: parameters are name=value, joined by &, with other signs as %%XX. Encode the values.")
	}
	var errs []request.Complaint
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(values[name], func(v string) bool { return !mapping.IsText(v) }) {
			errs = append(errs, request.NoText(name))
		}
	}
	return request.Invalid(errs)
}

// keyFault refuses an Idempotency-Key that is no text.
func keyFault(h http.Header) error {
	if mapping.IsText(h.Get(adapter.IdempotencyKeyHeader)) {
		return nil
	}
	return request.Invalid([]request.Complaint{request.NoText(adapter.IdempotencyKeyHeader)})
}

func endsInID(template string) bool {
	return strings.HasSuffix(template, "/{thread_id}") || strings.HasSuffix(template, "/{run_id}") || strings.HasSuffix(template, "/{cron_id}")
}

// isNoWord keeps templates that end in an id from taking fixed paths: GET /runs/wait is a wrong method, not a run with
// a bad id.
func isNoWord(r *http.Request, _ *mux.RouteMatch) bool { return !words[r.URL.Path] }

// words are the paths without a variable part.
var words = func() map[string]bool {
	set := map[string]bool{}
	for _, e := range endpoints {
		set[e.path] = !strings.Contains(e.path, "{")
	}
	return set
}()

// unknown answers what no route took: 405 for a path that exists for other methods, else 404.
func (s *server) unknown(w http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, e := range endpoints {
		if !e.refused && matches(e.path, r.URL.Path) && !(words[r.URL.Path] && endsInID(e.path)) {
			allowed = append(allowed, e.method)
		}
	}
	if len(allowed) == 0 {
		return mapping.Errorf(mapping.NotFound, mapping.CodeRouteNotFound, "There is no such route. See /docs for those there are.")
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return mapping.Errorf(mapping.NotAllowed, "method_not_allowed", "This route takes %s.", strings.Join(allowed, " or "))
}

// matches reports whether a path fits a template with {names}.
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

// routeOf is the template of the request's route, for logs.
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
		e.Detail = []request.Complaint{{Field: name, Message: name + " must be a UUID"}}
		return "", e
	}
	return id, nil
}

// threadOf reads {thread_id}.
func threadOf(r *http.Request) (string, error) { return pathUUID(r, "thread_id") }

// refOf reads {run_id}, and {thread_id} where the route has one.
func refOf(r *http.Request) (ref adapter.RunRef, err error) {
	if _, ok := mux.Vars(r)["thread_id"]; ok {
		if ref.ThreadID, err = threadOf(r); err != nil {
			return ref, err
		}
	}
	ref.RunID, err = pathUUID(r, "run_id")
	return ref, err
}

// readBody reads a request body of JSON, nil when there is none.
func (s *server) readBody(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	return request.Read(w, r, int64(s.face.Limits.Body))
}

// request reads a body that may be empty; mandatory refuses that.
func (s *server) request(w http.ResponseWriter, r *http.Request, mandatory bool) (*request.Fields, error) {
	raw, err := s.readBody(w, r)
	if err != nil {
		return nil, err
	}
	if raw == nil && mandatory {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body is empty; a JSON object is needed.")
	}
	o, err := request.Parse(raw, s.face.Limits.MaxJSONDepth)
	if err == nil {
		o.TellIn(w.Header())
	}
	return o, err
}

// paginate says how many there are, and where the next page begins.
func paginate(w http.ResponseWriter, p request.Page, n, total int) {
	w.Header().Set("X-Pagination-Total", strconv.Itoa(total))
	if next := p.Offset + n; n > 0 && next < total {
		w.Header().Set("X-Pagination-Next", strconv.Itoa(next))
	}
}

func replyNumber(w http.ResponseWriter, n int) { reply(w, http.StatusOK, []byte(strconv.Itoa(n))) }

func noContent(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }

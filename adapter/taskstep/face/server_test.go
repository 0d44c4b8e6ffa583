package face

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/gorilla/mux"
	"go.uber.org/zap/zaptest"
)

const (
	v1Path = "/ap/v1/agent"
	plain  = "application/json"
)

// served is the face over a fake, on a real listener.
type served struct {
	*fake
	t   *testing.T
	url string
}

func serve(t *testing.T, f *fake) *served {
	t.Helper()
	srv := httptest.NewServer(faceOver(t, f))
	t.Cleanup(srv.Close)
	return &served{fake: f, t: t, url: srv.URL}
}

func faceOver(t *testing.T, f *fake) http.Handler {
	r := mux.NewRouter().SkipClean(true)
	Mount(r, f, adapter.Face{
		Log:          zaptest.NewLogger(t),
		Limits:       config.Limits{Body: 64 << 10, MaxJSONDepth: 50, Artifact: config.Bytes(f.maxFile)},
		DefaultAgent: "main",
		Agents: map[string]config.Agent{
			"main":  {},
			"other": {Artifacts: config.Artifacts{Path: "folder"}},
		},
		Heartbeat: time.Hour,
	})
	return r
}

// gotten is a whole response.
type gotten struct {
	status int
	header http.Header
	body   string
}

// do sends a request. contentType "" sends none.
func (s *served) do(method, path, contentType, body string) gotten {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return s.send(req)
}

func (s *served) send(req *http.Request) gotten {
	s.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return gotten{res.StatusCode, res.Header, string(b)}
}

// field returns one top-level string of an answer that must be 200.
func (a gotten) field(t *testing.T, name string) string {
	t.Helper()
	var body map[string]any
	if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &body) != nil {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	v, _ := body[name].(string)
	return v
}

// newTask creates a task and returns its path.
func (s *served) newTask(input string) string {
	s.t.Helper()
	a := s.do("POST", v1Path+"/tasks", plain, `{"input":"`+input+`"}`)
	return v1Path + "/tasks/" + a.field(s.t, "task_id")
}

func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	before := s.written()
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"DELETE", task, 405, "GET, HEAD"},
		{"DELETE", v1Path + "/tasks", 405, "GET, HEAD, POST"},
		{"PUT", task + "/steps", 405, "GET, HEAD, POST"},
		{"PATCH", task + "/steps/x", 405, "GET, HEAD"},
		{"DELETE", task + "/artifacts/x", 405, "GET, HEAD"},
		{"GET", task + "/cancel", 405, "POST"},
		{"POST", "/ap/v1/heartbeat", 405, "GET, HEAD"},
		{"DELETE", "/agents/other/ap/v1/agent/tasks", 405, "GET, HEAD, POST"},
		{"DELETE", "/agent/tasks", 405, "GET, HEAD, POST"},
		{"GET", "/ap/v1", 404, ""},
		{"GET", "/ap/v1/", 404, ""},
		{"GET", "/ap/v1/agent", 404, ""},
		{"POST", "/ap/v1/agent/task", 404, ""},
		{"GET", task + "/", 404, ""},
		{"GET", task + "/evaluations", 404, ""},
		{"GET", "/agent/tasks/", 404, ""},
		{"GET", "/agents/other/ap/v1/agent/nothing", 404, ""},
		{"GET", "/agents/nobody/ap/v1/agent/tasks", 404, ""},
		{"POST", "/agents/nobody/ap/v1/agent/tasks", 404, ""},
	} {
		a := s.do(c.method, c.path, "", "")
		if a.status != c.status || a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: got %d, Allow %q; want %d, %q", c.method, c.path, a.status, a.header.Get("Allow"), c.status, c.allow)
		}
		checkOnlyMessage(t, c.method+" "+c.path, a)
	}
	if s.written() != before {
		t.Error("a refused request wrote something")
	}
}

// checkOnlyMessage checks for the document's NotFound: {"message": string}.
func checkOnlyMessage(t *testing.T, what string, a gotten) {
	t.Helper()
	var body map[string]string
	err := json.Unmarshal([]byte(a.body), &body)
	if err != nil || len(body) != 1 || body["message"] == "" || a.header.Get("Content-Type") != jsonAnswer {
		t.Errorf("%s: want only a message in JSON, got %s %q", what, a.header.Get("Content-Type"), a.body)
	}
}

func TestOtherPathsAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := mux.NewRouter().SkipClean(true)
	Mount(r, newFake(), adapter.Face{Log: zaptest.NewLogger(t)})
	for _, path := range []string{"/agents/search", "/agents/x", "/agent", "/agent/x", "/ap/v10", "/ap/v3/topics", "/threads", "/"} {
		var match mux.RouteMatch
		if r.Match(httptest.NewRequest("GET", path, nil), &match) {
			t.Errorf("%s is taken", path)
		}
	}
}

func TestEveryPrefixIsTheSameFace(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	id := s.do("POST", "/agent/tasks", plain, `{}`).field(t, "task_id")
	for _, c := range []struct {
		path   string
		status int
	}{
		{"/ap/v1/agent/tasks/" + id, 200},
		{"/agent/tasks/" + id, 200},
		{"/agents/main/ap/v1/agent/tasks/" + id, 200},
		{"/agents/other/ap/v1/agent/tasks/" + id, 404}, // another agent's
	} {
		if a := s.do("GET", c.path, "", ""); a.status != c.status {
			t.Errorf("%s: got %d %s, want %d", c.path, a.status, a.body, c.status)
		}
	}
}

func TestNoDefaultAgent(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := mux.NewRouter()
	Mount(r, f, adapter.Face{Log: zaptest.NewLogger(t)})
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("POST", v1Path+"/tasks", nil))
	if w.Code != 404 || !strings.Contains(w.Body.String(), "/agents/{name}/ap/v1") || f.written() != 0 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// The router tries routes in order, so the ones that drive a run come first.
func TestHotRoutesComeFirst(t *testing.T) {
	t.Parallel()
	r := mux.NewRouter()
	Mount(r, newFake(), adapter.Face{Log: zaptest.NewLogger(t)})
	var order []string
	_ = r.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		if methods, err := route.GetMethods(); err == nil {
			path, _ := route.GetPathTemplate()
			order = append(order, methods[0]+" "+path)
		}
		return nil
	})
	want := []string{"POST " + v1Path + "/tasks/{task}/steps", "POST " + v1Path + "/tasks", "GET " + v1Path + "/tasks/{task}"}
	for i, route := range want {
		if order[i] != route {
			t.Errorf("route %d is %s, want %s", i, order[i], route)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	a := s.do("GET", "/ap/v1/heartbeat", "", "")
	if a.status != 200 || a.body != "Server is running." || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %d %q %v", a.status, a.body, a.header)
	}
}

func TestHeadRespondsLikeGet(t *testing.T) {
	t.Parallel()
	s := serve(t, newFake())
	task := s.newTask("hi")
	s.do("POST", task+"/steps", plain, "")
	for path, kind := range map[string]string{
		task: jsonAnswer, task + "/steps": jsonAnswer, task + "/steps?stream=true": "text/event-stream", "/ap/v1/heartbeat": "text/plain; charset=utf-8",
	} {
		a := s.do("HEAD", path, "", "")
		if a.status != 200 || a.body != "" || a.header.Get("Content-Type") != kind {
			t.Errorf("%s: got %d %q %s", path, a.status, a.body, a.header.Get("Content-Type"))
		}
	}
}

func urlWith(query string) *url.URL { return &url.URL{RawQuery: query} }

package legacyagent

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// server keeps the tasks of one process. One lock is enough: steps are instant.
type server struct {
	mu    sync.Mutex
	tasks []*task
}

// Handler serves a new agent, with no tasks yet.
func Handler() http.Handler {
	s, mux := &server{}, http.NewServeMux()
	const tasks = "/ap/v1/agent/tasks"
	mux.HandleFunc("POST "+tasks, s.locked(s.create))
	mux.HandleFunc("GET "+tasks, s.locked(s.list))
	mux.HandleFunc("GET "+tasks+"/{task}", s.ofTask(func(w http.ResponseWriter, _ *http.Request, t *task) { reply(w, 200, t) }))
	mux.HandleFunc("POST "+tasks+"/{task}/steps", s.ofTask(execute))
	mux.HandleFunc("GET "+tasks+"/{task}/steps", s.ofTask(func(w http.ResponseWriter, r *http.Request, t *task) { page(w, r, "steps", t.steps) }))
	mux.HandleFunc("GET "+tasks+"/{task}/steps/{step}", s.ofTask(getStep))
	mux.HandleFunc("POST "+tasks+"/{task}/artifacts", s.ofTask(upload))
	mux.HandleFunc("GET "+tasks+"/{task}/artifacts", s.ofTask(func(w http.ResponseWriter, r *http.Request, t *task) { page(w, r, "artifacts", t.Artifacts) }))
	mux.HandleFunc("GET "+tasks+"/{task}/artifacts/{artifact}", s.ofTask(download))
	return mux
}

func (s *server) locked(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		h(w, r)
	}
}

func (s *server) ofTask(h func(http.ResponseWriter, *http.Request, *task)) http.HandlerFunc {
	return s.locked(func(w http.ResponseWriter, r *http.Request) {
		for _, t := range s.tasks {
			if t.ID == r.PathValue("task") {
				h(w, r, t)
				return
			}
		}
		refuse(w, 404, "no such task")
	})
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Input           string         `json:"input"`
		AdditionalInput map[string]any `json:"additional_input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, 422, "the body is not a task: "+err.Error())
		return
	}
	t := &task{ID: newID(), Input: body.Input, AdditionalInput: body.AdditionalInput, Artifacts: []*artifact{}}
	if t.AdditionalInput == nil {
		t.AdditionalInput = map[string]any{}
	}
	s.tasks = append(s.tasks, t)
	reply(w, 200, t)
}

func (s *server) list(w http.ResponseWriter, r *http.Request) { page(w, r, "tasks", s.tasks) }

func execute(w http.ResponseWriter, r *http.Request, t *task) {
	var body struct{ Input string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && err != io.EOF {
		refuse(w, 422, "the body is not a step: "+err.Error())
		return
	}
	reply(w, 200, t.next(body.Input))
}

func getStep(w http.ResponseWriter, r *http.Request, t *task) {
	for _, s := range t.steps {
		if s.ID == r.PathValue("step") {
			reply(w, 200, s)
			return
		}
	}
	refuse(w, 404, "no such step")
}

func upload(w http.ResponseWriter, r *http.Request, t *task) {
	file, header, err := r.FormFile("file")
	if err != nil {
		refuse(w, 422, "no file in the form")
		return
	}
	defer file.Close()
	a := &artifact{ID: newID(), FileName: header.Filename, RelativePath: r.FormValue("relative_path")}
	if a.content, err = io.ReadAll(file); err != nil {
		refuse(w, 400, "the file broke off")
		return
	}
	t.Artifacts = append(t.Artifacts, a)
	reply(w, 200, a)
}

func download(w http.ResponseWriter, r *http.Request, t *task) {
	for _, a := range t.Artifacts {
		if a.ID == r.PathValue("artifact") {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write(a.content)
			return
		}
	}
	refuse(w, 404, "no such artifact")
}

// page answers a list with its pagination; current_page counts from 1.
func page[T any](w http.ResponseWriter, r *http.Request, key string, all []T) {
	number, size := asked(r, "current_page", 1), asked(r, "page_size", 10)
	from := min((number-1)*size, len(all))
	reply(w, 200, map[string]any{
		key: append([]T{}, all[from:min(from+size, len(all))]...),
		"pagination": map[string]int{
			"total_items": len(all), "total_pages": (len(all) + size - 1) / size,
			"current_page": number, "page_size": size,
		},
	})
}

// asked is a number from the query, within bounds, or its default.
func asked(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, 1_000_000)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"message": message})
}

// newID makes a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

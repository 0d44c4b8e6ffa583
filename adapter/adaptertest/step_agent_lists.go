package adaptertest

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
)

func (a *StepAgent) listTasks(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Probes++
	var objects, ids []string
	for _, t := range a.tasks {
		objects, ids = append(objects, a.taskJSON(t)), append(ids, a.idJSON(t.id))
	}
	a.writeList(w, r, "tasks", objects, ids)
}

func (a *StepAgent) getTask(w http.ResponseWriter, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.find(id); t != nil {
		write(w, 200, "application/json", a.taskJSON(t))
		return
	}
	a.unknownTask(w, id)
}

func (a *StepAgent) taskJSON(t *stepTask) string {
	switch a.Kind.Family() {
	case JS, Plain:
		additional := t.additional
		if additional == "null" {
			additional = "{}"
		}
		return fmt.Sprintf(`{"task_id":"%s","input":%s,"additional_input":%s,"artifacts":[%s]}`, t.id, t.input, additional, a.filesJSON(t.artifacts))
	case Forge, AutoGPT:
		return fmt.Sprintf(`{"input":%s,"additional_input":%s,"created_at":"2026-01-02T03:04:05.123456","modified_at":"2026-01-02T03:04:05.123456","task_id":"%s","artifacts":[%s]}`,
			t.input, t.additional, t.id, a.filesJSON(t.artifacts))
	case Bee:
		return fmt.Sprintf(`{"task_id":%s,"input":%s,"artifacts":[%s]}`, t.id, t.input, inlineJSON(t.artifacts))
	case Old:
		return fmt.Sprintf(`{"task_id":"%s","input":%s,"artifacts":[]}`, t.id, t.input)
	}
	var steps []string
	for _, s := range t.steps {
		steps = append(steps, a.stepJSON(t, s))
	}
	return fmt.Sprintf(`{"input":%s,"additional_input":%s,"task_id":"%s","artifacts":[%s],"steps":[%s]}`,
		t.input, t.additional, t.id, a.filesJSON(t.artifacts), strings.Join(steps, ","))
}

func (a *StepAgent) idJSON(id string) string {
	if a.Kind == Bee {
		return id
	}
	return strconv.Quote(id)
}

// writeList paginates like the kind.
func (a *StepAgent) writeList(w http.ResponseWriter, r *http.Request, key string, objects, ids []string) {
	q := r.URL.Query()
	page, size := number(q.Get("current_page"), 1), number(q.Get("page_size"), 10)
	switch a.Kind.Family() {
	case Bee, Old:
		write(w, 200, "application/json", "["+strings.Join(ids, ",")+"]")
		return
	case Forge, AutoGPT:
		page = number(q.Get("page"), 1)
		if key != "tasks" {
			size = number(q.Get("pageSize"), 10)
		}
	case JS:
		for name := range q {
			if name != "current_page" && name != "page_size" {
				write(w, 400, "text/html", "<pre>Bad Request: Unknown query parameter</pre>")
				return
			}
		}
	}
	pages := (len(objects) + size - 1) / size
	if a.Kind == Python {
		pages = len(objects) / size
	}
	from := min((page-1)*size, len(objects))
	cut := objects[from:min(from+size, len(objects))]
	write(w, 200, "application/json", fmt.Sprintf(`{"%s":[%s],"pagination":{"total_items":%d,"total_pages":%d,"current_page":%d,"page_size":%d}}`,
		key, strings.Join(cut, ","), len(objects), pages, page, size))
}

func number(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func (a *StepAgent) listArtifacts(w http.ResponseWriter, r *http.Request, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Lists++
	t := a.find(id)
	if t == nil {
		a.unknownList(w, r, id, "artifacts")
		return
	}
	if a.Kind.Family() == Python || a.Kind == Old {
		write(w, 200, "application/json", "["+a.filesJSON(t.artifacts)+"]")
		return
	}
	var list []string
	for _, f := range t.artifacts {
		list = append(list, a.fileJSON(f))
	}
	a.writeList(w, r, "artifacts", list, nil)
}

func (a *StepAgent) upload(w http.ResponseWriter, r *http.Request, id string) {
	part, header, err := r.FormFile("file")
	if err != nil {
		write(w, 500, "text/html", "<pre>Error: broken form</pre>")
		return
	}
	content, _ := io.ReadAll(part)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Uploads++
	t := a.find(id)
	if t == nil {
		a.unknownTask(w, id)
		return
	}
	at := path.Join(r.FormValue("relative_path"), header.Filename)
	if a.Kind.Family() == Forge || a.Kind == AutoGPT {
		// Only the query is used. It may contain the whole path.
		if at = r.URL.Query().Get("relative_path"); !strings.HasSuffix(at, header.Filename) {
			at = path.Join(at, header.Filename)
		}
	} else if len(r.URL.RawQuery) > 0 && a.Kind.Family() == JS {
		write(w, 400, "text/html", "<pre>Bad Request: Unknown query parameter</pre>")
		return
	}
	write(w, 200, "application/json", a.fileJSON(t.put(at, string(content), false)))
}

// again registers a file again, as evo.ninja does at every access.
func (t *stepTask) again(at, content string) *fileRow {
	f := &fileRow{id: fmt.Sprintf("00000000-dddd-4000-8000-%012d", len(t.artifacts)+1), path: at, content: content, byAgent: true}
	t.artifacts = append(t.artifacts, f)
	return f
}

func (t *stepTask) put(at, content string, byAgent bool) *fileRow {
	for _, f := range t.artifacts {
		if f.path == at {
			f.content, f.byAgent = content, byAgent || f.byAgent
			return f
		}
	}
	f := &fileRow{id: fmt.Sprintf("00000000-dddd-4000-8000-%012d", len(t.artifacts)+1), path: at, content: content, byAgent: byAgent}
	t.artifacts = append(t.artifacts, f)
	return f
}

func (a *StepAgent) download(w http.ResponseWriter, taskID, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Downloads++
	if t := a.find(taskID); t != nil {
		for _, f := range t.artifacts {
			hidden := a.Kind.Family() == JS && strings.HasPrefix(path.Base(f.path), ".")
			if f.id == id && !hidden {
				write(w, 200, "application/octet-stream", f.content)
				return
			}
		}
	}
	write(w, 404, "text/html", "<pre>Not Found</pre>")
}

func (a *StepAgent) filesJSON(files []*fileRow) string {
	var list []string
	for _, f := range files {
		list = append(list, a.fileJSON(f))
	}
	return strings.Join(list, ",")
}

func (a *StepAgent) fileJSON(f *fileRow) string {
	dir, name := path.Split(f.path)
	dir = strings.TrimSuffix(dir, "/")
	switch a.Kind.Family() {
	case JS:
		folder := "null"
		if dir != "" {
			folder = strconv.Quote(dir)
		}
		return fmt.Sprintf(`{"artifact_id":"%s","agent_created":%t,"file_name":%q,"relative_path":%s,"created_at":"1767323045000"}`, f.id, f.byAgent, name, folder)
	case Forge, AutoGPT:
		if a.Kind == OldForge {
			return fmt.Sprintf(`{"created_at":"2026-01-02T03:04:05.1","artifact_id":"%s","file_name":%q,"agent_created":%t,"uri":%q}`, f.id, name, f.byAgent, "file://"+f.path)
		}
		return fmt.Sprintf(`{"created_at":"2026-01-02T03:04:05.1","modified_at":"2026-01-02T03:04:05.1","artifact_id":"%s","agent_created":%t,"relative_path":%q,"file_name":%q}`, f.id, f.byAgent, f.path, name)
	case Old:
		return fmt.Sprintf(`{"artifact_id":"%s","file_name":%q,"uri":%q}`, f.id, name, f.path)
	}
	if dir == "" {
		dir = "."
	}
	return fmt.Sprintf(`{"artifact_id":"%s","file_name":%q,"relative_path":%q,"agent_created":%t}`, f.id, name, dir, f.byAgent)
}

// inlineJSON returns files as beebot sends them: without ids and paths.
func inlineJSON(files []*fileRow) string {
	var list []string
	for _, f := range files {
		list = append(list, fmt.Sprintf(`{"name":%q,"content":%q}`, path.Base(f.path), f.content))
	}
	return strings.Join(list, ",")
}

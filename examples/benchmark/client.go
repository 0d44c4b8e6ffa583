package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 20

// client calls one agent as agbenchmark does, and is as strict with its
// answers: a wrong type fails the challenge instead of being guessed around.
type client struct {
	tasks string // URL of the tasks
	key   string
	http  *http.Client
}

// parseBase accepts a server's address, also with the protocol's prefix.
func parseBase(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is no URL of a server, as http://127.0.0.1:8080 is", address)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q has more than a host and a path, which would not be sent; a key goes into BENCHMARK_KEY", u.Redacted())
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	for _, tail := range []string{"/tasks", "/agent", "/ap/v1"} {
		base = strings.TrimSuffix(base, tail)
	}
	return base, nil
}

// create makes a task and returns its id.
func (c *client) create(ctx context.Context, input string) (string, error) {
	body, err := json.Marshal(map[string]string{"input": input})
	if err != nil {
		return "", err
	}
	var task struct {
		ID         *string                    `json:"task_id"`
		Input      *string                    `json:"input"`
		Additional map[string]json.RawMessage `json:"additional_input"`
		Artifacts  []artifact                 `json:"artifacts"`
	}
	if err := c.call(ctx, http.MethodPost, c.tasks, "application/json", body, &task); err != nil {
		return "", err
	}
	if task.ID == nil || task.Artifacts == nil {
		return "", fmt.Errorf("the task that was made has no task_id or no list of artifacts")
	}
	return *task.ID, nil
}

// upload sends a file: the folder it belongs into first, unless it is the root,
// then its bytes, with the name percent-encoded.
func (c *client) upload(ctx context.Context, task string, f file) error {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	folder, name := path.Split(f.path)
	if folder != "" {
		if err := w.WriteField("relative_path", strings.TrimSuffix(folder, "/")); err != nil {
			return err
		}
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Type":        {kind},
		"Content-Disposition": {`form-data; name="file"; filename="` + url.PathEscape(name) + `"`},
	})
	if err != nil {
		return err
	}
	if _, err := part.Write(f.content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, c.tasks+"/"+task+"/artifacts", w.FormDataContentType(), form.Bytes(), nil)
}

// step asks for the next step: JSON by its type, and no body.
func (c *client) step(ctx context.Context, task string) (last bool, err error) {
	var step answeredStep
	if err := c.call(ctx, http.MethodPost, c.tasks+"/"+task+"/steps", "application/json", nil, &step); err != nil {
		return false, err
	}
	return step.IsLast, step.check()
}

// answeredStep has the types that the harness's client insists on.
type answeredStep struct {
	ID               *string                    `json:"step_id"`
	TaskID           *string                    `json:"task_id"`
	Name             *string                    `json:"name"`
	Input            *string                    `json:"input"`
	Output           *string                    `json:"output"`
	AdditionalInput  map[string]json.RawMessage `json:"additional_input"`
	AdditionalOutput map[string]json.RawMessage `json:"additional_output"`
	Status           string                     `json:"status"`
	IsLast           bool                       `json:"is_last"`
	Artifacts        []artifact                 `json:"artifacts"`
}

func (s answeredStep) check() error {
	switch s.Status {
	case "created", "running", "completed":
	default:
		return fmt.Errorf("a step has the status %q", s.Status)
	}
	switch {
	case s.ID == nil || s.TaskID == nil:
		return fmt.Errorf("a step has no step_id or no task_id")
	case s.Artifacts == nil:
		return fmt.Errorf("a step has no list of artifacts")
	}
	return nil
}

// artifact is a file of a task.
type artifact struct {
	ID       string  `json:"artifact_id"`
	ByAgent  bool    `json:"agent_created"`
	FileName string  `json:"file_name"`
	Folder   *string `json:"relative_path"` // of some servers the whole path
}

// path is where the file belongs.
func (a artifact) path() string {
	if a.Folder == nil {
		return a.FileName
	}
	if rel := strings.TrimPrefix(*a.Folder, "/"); path.Base(rel) == a.FileName {
		return rel
	}
	return path.Join(strings.TrimPrefix(*a.Folder, "/"), a.FileName)
}

// artifacts lists a task's files: one request, the server's first page.
func (c *client) artifacts(ctx context.Context, task string) ([]artifact, error) {
	var list struct {
		Artifacts []artifact `json:"artifacts"`
	}
	err := c.call(ctx, http.MethodGet, c.tasks+"/"+task+"/artifacts", "application/json", nil, &list)
	return list.Artifacts, err
}

func (c *client) download(ctx context.Context, task, id string) ([]byte, error) {
	return c.send(ctx, http.MethodGet, c.tasks+"/"+task+"/artifacts/"+url.PathEscape(id), "application/json", nil)
}

// call sends a request and decodes its answer into into, unless that is nil.
func (c *client) call(ctx context.Context, method, address, contentType string, body []byte, into any) error {
	raw, err := c.send(ctx, method, address, contentType, body)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	return nil
}

// send returns the body of a 2xx answer; nothing is tried twice.
func (c *client) send(ctx context.Context, method, address, contentType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "apbridge-benchmark")
	if c.key != "" {
		req.Header.Set("X-Api-Key", c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", method, address, err)
	case res.StatusCode/100 != 2:
		return nil, fmt.Errorf("%s %s answered %d: %.200s", method, address, res.StatusCode, raw)
	case len(raw) > maxAnswer:
		return nil, fmt.Errorf("%s %s answered more than %d MiB", method, address, maxAnswer>>20)
	}
	return raw, nil
}

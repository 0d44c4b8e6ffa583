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
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is no URL of a server, as http://127.0.0.1:8080 is", address)
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
		ID        *string         `json:"task_id"`
		Artifacts json.RawMessage `json:"artifacts"`
	}
	if err := c.call(ctx, http.MethodPost, c.tasks, "application/json", body, &task); err != nil {
		return "", err
	}
	if task.ID == nil || task.Artifacts == nil || string(task.Artifacts) == "null" {
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
	var step struct {
		Status    string          `json:"status"`
		IsLast    bool            `json:"is_last"`
		Artifacts json.RawMessage `json:"artifacts"`
	}
	if err := c.call(ctx, http.MethodPost, c.tasks+"/"+task+"/steps", "application/json", nil, &step); err != nil {
		return false, err
	}
	switch step.Status {
	case "created", "running", "completed":
	default:
		return false, fmt.Errorf("a step has the status %q", step.Status)
	}
	if string(step.Artifacts) == "null" {
		return false, fmt.Errorf("a step has null for its artifacts")
	}
	return step.IsLast, nil
}

// artifact is a file of a task.
type artifact struct {
	ID       string  `json:"artifact_id"`
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

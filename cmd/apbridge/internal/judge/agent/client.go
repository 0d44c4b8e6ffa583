// Package agent calls an agent that serves the Agent Protocol v1, as agbenchmark's client does: in its order, with its
// bytes, and as strict with the answers. Package judge calls it. A wrong type is an error instead of being guessed
// around. Nothing is tried twice.
//
// The order and the bytes are those of agbenchmark/agent_api_interface.py over the Python client agent_protocol_client
// 1.1.0, as recorded.
package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// maxAnswer bounds what is read of one answer that is no file.
const maxAnswer = 16 << 20

// maxRedirects is how often one request is redirected at most.
const maxRedirects = 10

// ErrNoAnswer is the cause when a request took longer than the client's patience.
var ErrNoAnswer = errors.New("no answer")

// Client calls one agent. Safe for concurrent use.
type Client struct {
	// Base is the server, as Address returns it.
	Base string
	// Key is sent as x-api-key to the server of Base alone; "" sends none.
	Key string
	// Patience bounds one request with its answer; it is above 0.
	Patience time.Duration
	// HTTP makes the requests; its CheckRedirect does not count.
	HTTP *http.Client
}

func (c *Client) tasks() string { return c.Base + "/ap/v1/agent/tasks" }

func (c *Client) task(id string) string { return c.tasks() + "/" + url.PathEscape(id) }

// Create makes a task and returns its id.
func (c *Client) Create(ctx context.Context, input string) (string, error) {
	body, err := json.Marshal(map[string]string{"input": input})
	if err != nil {
		return "", err
	}
	var task madeTask
	if err := c.call(ctx, http.MethodPost, c.tasks(), body, &task); err != nil {
		return "", err
	}
	return task.id()
}

// Step asks for the next step: JSON by its type, and no body.
func (c *Client) Step(ctx context.Context, task string) (Step, error) {
	raw, err := c.read(ctx, request{http.MethodPost, c.task(task) + "/steps", "application/json", nil})
	if err != nil {
		return Step{}, err
	}
	return parseStep(raw)
}

// Artifacts lists a task's files: the server's first page, by agbenchmark's request, and those after it, until there
// are more files than most. agbenchmark sees the first page alone.
func (c *Client) Artifacts(ctx context.Context, task string, most int) ([]Artifact, error) {
	all, pages, err := c.page(ctx, c.task(task)+"/artifacts")
	for n := 2; err == nil && n <= pages && len(all) <= most; n++ {
		var list []Artifact
		list, _, err = c.page(ctx, fmt.Sprintf("%s/artifacts?current_page=%d", c.task(task), n))
		if len(list) == 0 || slices.ContainsFunc(all, func(a Artifact) bool { return a.ID == list[0].ID }) {
			break // the server counts pages that it does not have
		}
		all = append(all, list...)
	}
	return all, err
}

func (c *Client) page(ctx context.Context, address string) (list []Artifact, pages int, err error) {
	var page struct {
		Artifacts  []Artifact `json:"artifacts"`
		Pagination struct {
			Pages int `json:"total_pages"`
		} `json:"pagination"`
	}
	err = c.call(ctx, http.MethodGet, address, nil, &page)
	return page.Artifacts, page.Pagination.Pages, err
}

// Download copies a file into w, at most limit bytes of it; a larger file is an error.
func (c *Client) Download(ctx context.Context, task, id string, w io.Writer, limit int64) (n int64, err error) {
	err = c.send(ctx, request{http.MethodGet, c.task(task) + "/artifacts/" + url.PathEscape(id), "application/json", nil}, func(body io.Reader) error {
		if n, err = io.Copy(w, io.LimitReader(body, limit+1)); err == nil && n > limit {
			err = fmt.Errorf("the file has more than %d bytes", limit)
		}
		return err
	})
	return n, err
}

// call sends JSON, or nothing, and decodes the answer into into.
func (c *Client) call(ctx context.Context, method, address string, body []byte, into any) error {
	raw, err := c.read(ctx, request{method, address, "application/json", body})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	return nil
}

// read returns the body of a 2xx answer.
func (c *Client) read(ctx context.Context, r request) (raw []byte, err error) {
	err = c.send(ctx, r, func(body io.Reader) error {
		raw, err = io.ReadAll(io.LimitReader(body, maxAnswer+1))
		if err == nil && len(raw) > maxAnswer {
			err = fmt.Errorf("%s %s answered more than %d MiB", r.method, r.address, maxAnswer>>20)
		}
		return err
	})
	return raw, err
}

// request is what is sent once.
type request struct {
	method, address, contentType string
	body                         []byte
}

// send gives the body of a 2xx answer to take.
func (c *Client) send(ctx context.Context, r request, take func(io.Reader) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Patience, ErrNoAnswer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, r.address, bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", r.contentType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "apbridge-bench")
	if c.Key != "" {
		req.Header.Set("X-Api-Key", c.Key)
	}
	res, err := c.follower().Do(req)
	if err == nil {
		defer res.Body.Close()
		if err = refusal(r, res); err == nil {
			err = take(res.Body)
		}
	}
	if err != nil && errors.Is(context.Cause(ctx), ErrNoAnswer) {
		return fmt.Errorf("%w to %s %s within %v", ErrNoAnswer, r.method, r.address, c.Patience)
	}
	return err
}

// follower follows redirections, but takes the key along to no other server: net/http keeps back only credentials of
// names that it knows.
func (c *Client) follower() *http.Client {
	client := *c.HTTP
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if first := via[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
			next.Header.Del("X-Api-Key")
		}
		if len(via) >= maxRedirects {
			return fmt.Errorf("redirected more than %d times", maxRedirects)
		}
		return nil
	}
	return &client
}

// refusal is the error of an answer that is not 2xx.
func refusal(r request, res *http.Response) error {
	if res.StatusCode/100 == 2 {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
	return &Refused{Method: r.method, Address: r.address, Status: res.StatusCode, Text: string(text)}
}

// Refused is an answer that is not 2xx.
type Refused struct {
	Method, Address string
	Status          int
	Text            string // of the body, its first 200 bytes
}

func (e *Refused) Error() string {
	return fmt.Sprintf("%s %s answered %d: %s", e.Method, e.Address, e.Status, e.Text)
}

// Address reads a server's address, also with the protocol's paths after it, and returns it without them:
// http://host:port, with /agents/NAME for one agent of a bridge.
func Address(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is no URL of a server, as http://127.0.0.1:8080 is", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q has more than a host and a path, which would not be sent; a key goes into BENCHMARK_KEY", u.Redacted())
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	for _, tail := range []string{"/tasks", "/agent", "/ap/v1"} {
		base = strings.TrimSuffix(base, tail)
	}
	return base, nil
}

// Agents returns the names of a bridge's agents, each a server of version 1 below /agents/NAME. A server that is no
// bridge, or lists no agents, has none.
func (c *Client) Agents(ctx context.Context) (names []string) {
	var list []struct {
		ID string `json:"agent_id"`
	}
	if !c.IsBridge(ctx) || c.call(ctx, http.MethodPost, c.Root()+"/agents/search", []byte(`{"limit":1000}`), &list) != nil {
		return nil
	}
	for _, a := range list {
		names = append(names, a.ID)
	}
	slices.Sort(names)
	if len(names) > 0 && !c.serves(ctx, names[0]) {
		return nil // servers of the LangChain Agent Protocol list agents, too
	}
	return names
}

func (c *Client) serves(ctx context.Context, name string) bool {
	one := *c
	one.Base = c.Root() + "/agents/" + name
	return one.Probe(ctx) == nil
}

// Upload sends a file: the folder it belongs into first, unless it is the root, then its bytes, with the name
// percent-encoded as agbenchmark does, and also in the form of RFC 5987 if that changes it.
func (c *Client) Upload(ctx context.Context, task, at string, content []byte) error {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := writeForm(w, at, content); err != nil {
		return err
	}
	_, err := c.read(ctx, request{http.MethodPost, c.task(task) + "/artifacts", w.FormDataContentType(), form.Bytes()})
	return err
}

func writeForm(w *multipart.Writer, at string, content []byte) error {
	folder, name := path.Split(at)
	if folder != "" {
		if err := w.WriteField("relative_path", strings.TrimSuffix(folder, "/")); err != nil {
			return err
		}
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	disposition := `form-data; name="file"; filename="` + url.PathEscape(name) + `"`
	if url.PathEscape(name) != name {
		disposition += "; filename*=UTF-8''" + url.PathEscape(name)
	}
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {kind}, "Content-Disposition": {disposition}})
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	return w.Close()
}

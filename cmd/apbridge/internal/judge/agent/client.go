// Package agent is a client of agents that serve the Agent Protocol v1. Package judge and the command bench use it. It
// sends the bytes of agbenchmark's client (agbenchmark/agent_api_interface.py over agent_protocol_client 1.1.0, as
// recorded) and is equally strict with responses: a wrong type is an error. It does not retry.
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

const (
	maxAnswer    = 16 << 20 // bytes of a response that is not a file
	maxRedirects = 10
)

// ErrNoAnswer is the error of a request that took longer than Client.Patience.
var ErrNoAnswer = errors.New("no answer")

// Client calls one agent. It is safe for concurrent use.
type Client struct {
	// Base is a result of Address.
	Base string
	// Key is sent as x-api-key, only to the server of Base. "" means none.
	Key string
	// Patience bounds one request with its response. It must be above 0.
	Patience time.Duration
	// HTTP makes the requests. Its CheckRedirect is ignored.
	HTTP *http.Client
}

func (c *Client) tasks() string { return c.Base + "/ap/v1/agent/tasks" }

func (c *Client) task(id string) string { return c.tasks() + "/" + url.PathEscape(id) }

// Create creates a task and returns its id.
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

// Step requests the next step, with the content type of JSON and no body.
func (c *Client) Step(ctx context.Context, task string) (Step, error) {
	raw, err := c.read(ctx, request{http.MethodPost, c.task(task) + "/steps", "application/json", nil})
	if err != nil {
		return Step{}, err
	}
	return parseStep(raw)
}

// Artifacts lists a task's files and stops after the page that exceeds most. The first request is the same as
// agbenchmark's, which reads only the first page.
func (c *Client) Artifacts(ctx context.Context, task string, most int) ([]Artifact, error) {
	all, pages, err := c.page(ctx, c.task(task)+"/artifacts")
	for n := 2; err == nil && n <= pages && len(all) <= most; n++ {
		var list []Artifact
		list, _, err = c.page(ctx, fmt.Sprintf("%s/artifacts?current_page=%d", c.task(task), n))
		if len(list) == 0 || slices.ContainsFunc(all, func(a Artifact) bool { return a.ID == list[0].ID }) {
			break // the server claims more pages than it has
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

// Download copies a file to w. It fails if the file is larger than limit.
func (c *Client) Download(ctx context.Context, task, id string, w io.Writer, limit int64) (n int64, err error) {
	err = c.send(ctx, request{http.MethodGet, c.task(task) + "/artifacts/" + url.PathEscape(id), "application/json", nil}, func(body io.Reader) error {
		if n, err = io.Copy(w, io.LimitReader(body, limit+1)); err == nil && n > limit {
			err = fmt.Errorf("the file has more than %d bytes", limit)
		}
		return err
	})
	return n, err
}

// call sends body as JSON, if there is one, and decodes the response into into.
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

// read returns the body of a 2xx response.
func (c *Client) read(ctx context.Context, r request) (raw []byte, err error) {
	err = c.send(ctx, r, func(body io.Reader) error {
		raw, err = io.ReadAll(io.LimitReader(body, maxAnswer+1))
		if err == nil && len(raw) > maxAnswer {
			err = fmt.Errorf("the response to %s %s exceeds %d MiB", r.method, r.address, maxAnswer>>20)
		}
		return err
	})
	return raw, err
}

type request struct {
	method, address, contentType string
	body                         []byte
}

// send passes the body of a 2xx response to take.
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

// follower follows redirects without sending the key to another server. net/http only drops headers that it knows.
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

func refusal(r request, res *http.Response) error {
	if res.StatusCode/100 == 2 {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
	return &Refused{Method: r.method, Address: r.address, Status: res.StatusCode, Text: string(text)}
}

// Refused is the error of a response other than 2xx.
type Refused struct {
	Method, Address string
	Status          int
	Text            string // the first 200 bytes of the body
}

func (e *Refused) Error() string {
	return fmt.Sprintf("%s %s returned %d: %s", e.Method, e.Address, e.Status, e.Text)
}

// Address returns the URL of a server without the paths of the protocol: http://host:port, or with /agents/NAME for one
// agent of a bridge.
func Address(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("%q is not the URL of a server, such as http://127.0.0.1:8080", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%q may have only a host and a path; put a key into BENCHMARK_KEY", u.Redacted())
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	for _, tail := range []string{"/tasks", "/agent", "/ap/v1"} {
		base = strings.TrimSuffix(base, tail)
	}
	return base, nil
}

// Agents returns the names of a bridge's agents. Each is a v1 server below /agents/NAME. It returns none for other
// servers.
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
		return nil // another server of the LangChain Agent Protocol
	}
	return names
}

func (c *Client) serves(ctx context.Context, name string) bool {
	one := *c
	one.Base = c.Root() + "/agents/" + name
	return one.Probe(ctx) == nil
}

// Upload sends a file as agbenchmark does: first the folder, unless it is the root, then the file with a
// percent-encoded name. If encoding changes the name, it is also sent in the form of RFC 5987.
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

package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Run is a run in the bridge's form. Whole is the complete JSON.
type Run struct {
	ID        string          `json:"run_id"`
	Thread    string          `json:"thread_id"`
	Assistant string          `json:"assistant_id"`
	Agent     string          `json:"agent_id"`
	Status    string          `json:"status"`
	Metadata  json.RawMessage `json:"metadata"`
	Kwargs    json.RawMessage `json:"kwargs"`
	Multitask string          `json:"multitask_strategy"`
	Created   time.Time       `json:"created_at"`
	Updated   time.Time       `json:"updated_at"`
	Error     string          `json:"error"`
	Code      string          `json:"error_code"`

	Whole json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler and keeps the text.
func (r *Run) UnmarshalJSON(raw []byte) error {
	type members Run
	var m members
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*r = Run(m)
	r.Whole = append(json.RawMessage(nil), raw...)
	return nil
}

// RunFilter filters a list of runs. The zero value means all.
type RunFilter struct {
	Thread string `json:"thread_id,omitempty"`
	Agent  string `json:"agent_id,omitempty"`
	Status string `json:"status,omitempty"` // a status of the Agent Protocol, whose "pending" includes running
	Limit  int    `json:"limit"`            // 1 to 1000
	Offset int    `json:"offset,omitempty"`
}

// Runs lists runs of all threads, newest first. Their statuses are those of RunFilter. Explain distinguishes pending
// runs from running ones.
func (c *Client) Runs(ctx context.Context, f RunFilter) (list []Run, err error) {
	_, err = c.call(ctx, http.MethodPost, "/runs/search", f, &list)
	return list, err
}

// Run reads one run.
func (c *Client) Run(ctx context.Context, id string) (r Run, err error) {
	_, err = c.call(ctx, http.MethodGet, "/runs/"+url.PathEscape(id), nil, &r)
	return r, err
}

// Explanation describes the state of a run and its reason. Whole is the complete JSON.
type Explanation struct {
	Run      string `json:"run_id"`
	Thread   string `json:"thread_id"`
	Agent    string `json:"agent"`
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Question *struct {
		Interrupts []Question `json:"interrupts"`
	} `json:"question"`

	Whole json.RawMessage `json:"-"`
}

// Question is an agent's question. Value is in the agent's form.
type Question struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// Questions returns the questions that the run is waiting for. open is false if it is not waiting for an answer. A run
// that stopped before or after a node is open but has no questions.
func (e Explanation) Questions() (list []Question, open bool) {
	if e.Question == nil {
		return nil, false
	}
	return e.Question.Interrupts, true
}

// Explain requests the explanation of a run's state.
func (c *Client) Explain(ctx context.Context, id string) (e Explanation, err error) {
	var raw json.RawMessage
	if _, err = c.call(ctx, http.MethodGet, "/runs/"+url.PathEscape(id)+"/explain", nil, &raw); err != nil {
		return e, err
	}
	if err = json.Unmarshal(raw, &e); err != nil {
		return e, c.unread(ctx, err)
	}
	e.Whole = raw
	return e, nil
}

// Cancel stops a run and returns when it has ended. It has no effect on a run that has already ended. rollback also
// removes the run's changes.
func (c *Client) Cancel(ctx context.Context, id string, rollback bool) error {
	path := "/runs/" + url.PathEscape(id) + "/cancel?wait=true"
	if rollback {
		path += "&action=rollback"
	}
	_, err := c.call(ctx, http.MethodPost, path, nil, nil)
	return err
}

// Start starts a run on a thread with the request body. lost lists the fields that the agent does not receive exactly;
// it may be "".
func (c *Client) Start(ctx context.Context, thread string, body any) (r Run, lost string, err error) {
	header, err := c.call(ctx, http.MethodPost, "/threads/"+url.PathEscape(thread)+"/runs", body, &r)
	return r, strings.TrimSpace(header.Get("X-Apbridge-Unsupported")), err
}

// Answer answers the question of a run by starting a new run on its thread.
func (c *Client) Answer(ctx context.Context, r Run, answer any) (Run, error) {
	next, _, err := c.Start(ctx, r.Thread, map[string]any{"assistant_id": r.Assistant, "command": map[string]any{"resume": answer}})
	return next, err
}

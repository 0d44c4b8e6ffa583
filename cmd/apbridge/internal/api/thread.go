package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Thread is a thread in the bridge's form. Whole is the complete JSON.
type Thread struct {
	ID       string          `json:"thread_id"`
	Status   string          `json:"status"`
	Created  time.Time       `json:"created_at"`
	Updated  time.Time       `json:"updated_at"`
	Metadata json.RawMessage `json:"metadata"`
	First    json.RawMessage `json:"-"` // message, if the filter requested it
	Values   struct {
		Messages []json.RawMessage          `json:"messages"`
		Files    map[string]json.RawMessage `json:"files"`
	} `json:"-"`

	Whole json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler and keeps the text. Parts of an agent's state other than messages and files
// in the usual form are only in Whole.
func (t *Thread) UnmarshalJSON(raw []byte) error {
	type members Thread
	var m members
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*t = Thread(m)
	t.Whole = append(json.RawMessage(nil), raw...)
	var state struct {
		Values    map[string]json.RawMessage
		Extracted struct{ First json.RawMessage }
	}
	if json.Unmarshal(raw, &state) == nil {
		_ = json.Unmarshal(state.Values["messages"], &t.Values.Messages)
		_ = json.Unmarshal(state.Values["files"], &t.Values.Files)
		t.First = state.Extracted.First
	}
	return nil
}

// Agent returns the name of the first agent on the thread, or "".
func (t Thread) Agent() string {
	var m struct {
		Graph string `json:"graph_id"`
	}
	_ = json.Unmarshal(t.Metadata, &m)
	return m.Graph
}

// ThreadFilter filters a list of threads. The zero value means all.
type ThreadFilter struct {
	Status string   `json:"status,omitempty"`
	Limit  int      `json:"limit"` // 1 to 1000
	Offset int      `json:"offset,omitempty"`
	Sort   string   `json:"sort_by,omitempty"`
	Select []string `json:"select,omitempty"`

	Extract map[string]string `json:"extract,omitempty"`
}

// FirstMessage is the value for a filter that requests the first message of each thread.
var FirstMessage = map[string]string{"first": "values.messages[0]"}

// Threads lists threads without their states, most recently changed first.
func (c *Client) Threads(ctx context.Context, f ThreadFilter) (list []Thread, err error) {
	f.Sort, f.Select = "updated_at", []string{"thread_id", "status", "created_at", "updated_at", "metadata"}
	_, err = c.call(ctx, http.MethodPost, "/threads/search", f, &list)
	return list, err
}

// Thread requests a thread with its state.
func (c *Client) Thread(ctx context.Context, id string) (t Thread, err error) {
	_, err = c.call(ctx, http.MethodGet, "/threads/"+url.PathEscape(id), nil, &t)
	return t, err
}

// Storage is the size of a thread in the bridge's database.
type Storage struct {
	Total int64 `json:"total_bytes"`
	Exact bool  `json:"exact"` // otherwise it is a lower bound
}

// Storage requests the size of a thread.
func (c *Client) Storage(ctx context.Context, id string) (s Storage, err error) {
	_, err = c.call(ctx, http.MethodGet, "/threads/"+url.PathEscape(id)+"/storage", nil, &s)
	return s, err
}

// NewThread creates an empty thread.
func (c *Client) NewThread(ctx context.Context) (t Thread, err error) {
	_, err = c.call(ctx, http.MethodPost, "/threads", struct{}{}, &t)
	return t, err
}

// DeleteThread deletes a thread with its runs, states and files.
func (c *Client) DeleteThread(ctx context.Context, id string) error {
	_, err := c.call(ctx, http.MethodDelete, "/threads/"+url.PathEscape(id), nil, nil)
	return err
}

// History requests all states of a thread, newest first.
func (c *Client) History(ctx context.Context, thread string) (all []json.RawMessage, err error) {
	const page = 100
	body := map[string]any{"limit": page}
	for {
		var list []json.RawMessage
		if _, err = c.call(ctx, http.MethodPost, "/threads/"+url.PathEscape(thread)+"/history", body, &list); err != nil {
			return nil, err
		}
		all = append(all, list...)
		if len(list) < page {
			return all, nil
		}
		var last struct{ Checkpoint json.RawMessage }
		if err = json.Unmarshal(list[page-1], &last); err != nil {
			return nil, c.unread(ctx, err)
		}
		body["before"] = last.Checkpoint
	}
}

// Agent is an agent of the bridge, or an assistant of one.
type Agent struct {
	ID          string `json:"assistant_id"`
	Name        string `json:"name"`
	Graph       string `json:"graph_id"` // the agent's name in the configuration
	Description string `json:"description"`
	Version     int    `json:"version"`

	Whole json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler and keeps the text.
func (a *Agent) UnmarshalJSON(raw []byte) error {
	type members Agent
	var m members
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*a = Agent(m)
	a.Whole = append(json.RawMessage(nil), raw...)
	return nil
}

// Agents lists all agents and assistants that the key may use.
func (c *Client) Agents(ctx context.Context) (all []Agent, err error) {
	const page = 1000
	for {
		var list []Agent
		body := map[string]any{"limit": page, "offset": len(all), "sort_by": "name", "sort_order": "asc"}
		if _, err = c.call(ctx, http.MethodPost, "/assistants/search", body, &list); err != nil {
			return nil, err
		}
		if all = append(all, list...); len(list) < page {
			return all, nil
		}
	}
}

// Download writes the bytes at a path of the bridge, such as the path of a large file in a state.
func (c *Client) Download(ctx context.Context, path string, to io.Writer) error {
	res, err := c.send(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err = io.Copy(to, res.Body); err != nil {
		return c.unread(ctx, err)
	}
	return nil
}

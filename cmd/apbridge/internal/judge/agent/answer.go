package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// madeTask has the types that agbenchmark's client requires.
type madeTask struct {
	ID         *string                    `json:"task_id"`
	Input      *string                    `json:"input"`
	Additional map[string]json.RawMessage `json:"additional_input"`
	Artifacts  []Artifact                 `json:"artifacts"`
}

func (t madeTask) id() (string, error) {
	if t.ID == nil || *t.ID == "" || t.Artifacts == nil {
		return "", fmt.Errorf("the new task has no task_id or no list of artifacts")
	}
	return *t.ID, nil
}

// Step is an executed step.
type Step struct {
	Output     string
	Failure    string // why the run failed, as reported by a bridge
	Last       bool
	Additional json.RawMessage // additional_output
	Raw        json.RawMessage // the whole response
}

// answeredStep has the types that agbenchmark's client requires.
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
	Artifacts        []Artifact                 `json:"artifacts"`
}

func parseStep(raw []byte) (Step, error) {
	var s answeredStep
	if err := json.Unmarshal(raw, &s); err != nil {
		return Step{}, fmt.Errorf("the response to a step is invalid: %w", err)
	}
	step := Step{Last: s.IsLast, Raw: raw}
	if s.Output != nil {
		step.Output = *s.Output
	}
	if s.AdditionalOutput != nil {
		var fields struct {
			Additional json.RawMessage `json:"additional_output"`
		}
		_ = json.Unmarshal(raw, &fields) // it was decoded above
		step.Additional, step.Failure = fields.Additional, failure(s.AdditionalOutput["error"])
	}
	return step, s.check()
}

// failure reads additional_output.error, where a bridge reports a failed run. The protocol has no field for that.
func failure(raw json.RawMessage) string {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(raw, &said) // another form is specific to the agent
	return said.Message
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

// Artifact is a file of a task.
type Artifact struct {
	ID       string  `json:"artifact_id"`
	ByAgent  bool    `json:"agent_created"`
	FileName string  `json:"file_name"`
	Folder   *string `json:"relative_path"` // the whole path on some servers
}

// Path returns the path reported by the agent. It may point anywhere.
func (a Artifact) Path() string {
	if a.Folder == nil {
		return a.FileName
	}
	if rel := strings.TrimPrefix(*a.Folder, "/"); path.Base(rel) == a.FileName {
		return rel
	}
	return path.Join(strings.TrimPrefix(*a.Folder, "/"), a.FileName)
}

// Usage is the usage that an agent reports for a task. nil means unknown.
type Usage struct {
	Tokens *int64   `json:"tokens,omitempty"` // input and output
	Cost   *float64 `json:"cost,omitempty"`   // US dollars
}

// Add adds the usage in a step's additional_output. AutoGPT's task_total_cost and task_cumulative_cost are totals of
// the task. usage_metadata (LangChain, UsageMetadata) is for one message.
func (u *Usage) Add(additional json.RawMessage) {
	var said struct {
		Total      *float64 `json:"task_total_cost"`
		Cumulative *float64 `json:"task_cumulative_cost"`
	}
	if json.Unmarshal(additional, &said) == nil {
		for _, cost := range []*float64{said.Cumulative, said.Total} {
			if cost != nil {
				u.Cost = cost
			}
		}
	}
	var value any
	if json.Unmarshal(additional, &value) == nil {
		u.addTokens(tokensIn(value))
	}
}

func (u *Usage) addTokens(n int64, found bool) {
	if !found {
		return
	}
	if u.Tokens != nil {
		n += *u.Tokens
	}
	u.Tokens = &n
}

// tokensIn sums up every usage_metadata in a value.
func tokensIn(v any) (sum int64, found bool) {
	add := func(n int64, ok bool) { sum, found = sum+n, found || ok }
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			add(tokensIn(each))
		}
	case map[string]any:
		for key, each := range v {
			if of, ok := each.(map[string]any); ok && key == "usage_metadata" {
				add(tokensOf(of))
				continue
			}
			add(tokensIn(each))
		}
	}
	return sum, found
}

func tokensOf(usage map[string]any) (int64, bool) {
	number := func(key string) float64 { n, _ := usage[key].(float64); return n }
	if n := number("total_tokens"); n > 0 {
		return int64(n), true
	}
	n := number("input_tokens") + number("output_tokens")
	return int64(n), n > 0
}

// Root returns the server's URL without the path to an agent of a bridge.
func (c *Client) Root() string {
	root, _, _ := strings.Cut(c.Base, "/agents/")
	return root
}

// Probe lists the tasks, which every v1 server supports.
func (c *Client) Probe(ctx context.Context) error {
	var list struct {
		Tasks []json.RawMessage `json:"tasks"`
	}
	return c.call(ctx, http.MethodGet, c.tasks(), nil, &list)
}

// IsBridge reports whether a v1 server also has assistants, by GET /info.
func (c *Client) IsBridge(ctx context.Context) bool {
	var info struct {
		Flags struct {
			Assistants bool `json:"assistants"`
		} `json:"flags"`
	}
	return c.call(ctx, http.MethodGet, c.Root()+"/info", nil, &info) == nil && info.Flags.Assistants
}

// ThreadUsage reads the tokens of a task from the messages of its thread, which has the same id on a bridge.
func (c *Client) ThreadUsage(ctx context.Context, task string) (u Usage) {
	var state struct {
		Values struct {
			Messages []any `json:"messages"`
		} `json:"values"`
	}
	if err := c.call(ctx, http.MethodGet, c.Root()+"/threads/"+url.PathEscape(task)+"/state", nil, &state); err == nil {
		u.addTokens(tokensIn(any(state.Values.Messages)))
	}
	return u
}

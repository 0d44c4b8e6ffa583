// Package legacyagent is a small agent in the manner of AutoGPT: it serves the
// Agent Protocol v1 (tasks, steps, artifacts) and forgets everything when it
// stops. It needs no model: it thinks aloud, writes a file and finishes.
//
// A task whose input says "ask me" begins with a question, told the way AutoGPT
// tells it: a step that is not the last, with use_tool ask_user.
package legacyagent

import (
	"fmt"
	"strings"
)

type task struct {
	ID              string         `json:"task_id"`
	Input           string         `json:"input"`
	AdditionalInput map[string]any `json:"additional_input"`
	Artifacts       []*artifact    `json:"artifacts"`

	steps  []*step
	answer string // what the person said when asked
}

type step struct {
	ID               string         `json:"step_id"`
	TaskID           string         `json:"task_id"`
	Name             string         `json:"name"`
	Status           string         `json:"status"`
	Input            string         `json:"input"`
	Output           string         `json:"output"`
	AdditionalOutput map[string]any `json:"additional_output"`
	Artifacts        []*artifact    `json:"artifacts"`
	IsLast           bool           `json:"is_last"`
}

type artifact struct {
	ID           string `json:"artifact_id"`
	FileName     string `json:"file_name"`
	RelativePath string `json:"relative_path,omitempty"`
	AgentCreated bool   `json:"agent_created"`

	content []byte
}

// request is what the person wants now: a bridge may put the conversation so
// far in front of it.
func (t *task) request() string {
	if _, now, ok := strings.Cut(t.Input, "Current request:\n"); ok {
		return strings.TrimSpace(now)
	}
	return t.Input
}

// next does one step. After the last one it gives that one again.
func (t *task) next(input string) *step {
	if n := len(t.steps); n > 0 && t.steps[n-1].IsLast {
		return t.steps[n-1]
	}
	s := &step{ID: newID(), TaskID: t.ID, Status: "completed", Input: input, Artifacts: []*artifact{}}
	t.plan()[len(t.steps)](t, s)
	t.steps = append(t.steps, s)
	return s
}

// plan is the list of steps this task takes.
func (t *task) plan() []func(*task, *step) {
	if strings.Contains(strings.ToLower(t.request()), "ask me") {
		return []func(*task, *step){ask, think, write, finish}
	}
	return []func(*task, *step){think, write, finish}
}

func ask(_ *task, s *step) {
	s.Name, s.Output = "ask_user", "What shall the file say?"
	s.AdditionalOutput = map[string]any{"use_tool": map[string]any{
		"name": "ask_user", "arguments": map[string]string{"question": s.Output},
	}}
}

func think(t *task, s *step) {
	if len(t.steps) > 0 {
		t.answer = s.Input
	}
	s.Name, s.Output = "think", "I was asked: "+t.request()+". I will write answer.txt."
	for _, a := range t.Artifacts {
		s.Output += fmt.Sprintf(" I was given %s (%d bytes).", a.FileName, len(a.content))
	}
}

func write(t *task, s *step) {
	text := "Answer to: " + t.request() + "\n"
	if t.answer != "" {
		text += "You told me: " + t.answer + "\n"
	}
	for _, a := range t.Artifacts {
		text += fmt.Sprintf("--- %s ---\n%s\n", a.FileName, a.content)
	}
	made := &artifact{ID: newID(), FileName: "answer.txt", AgentCreated: true, content: []byte(text)}
	t.Artifacts = append(t.Artifacts, made)
	s.Name, s.Output, s.Artifacts = "write_file", "I wrote answer.txt.", []*artifact{made}
}

func finish(t *task, s *step) {
	s.Name, s.Output, s.IsLast = "finish", "Done: "+t.request(), true
}

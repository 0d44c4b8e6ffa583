package agent

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// madeTask has the types that agbenchmark's client insists on.
type madeTask struct {
	ID         *string                    `json:"task_id"`
	Input      *string                    `json:"input"`
	Additional map[string]json.RawMessage `json:"additional_input"`
	Artifacts  []Artifact                 `json:"artifacts"`
}

func (t madeTask) id() (string, error) {
	if t.ID == nil || *t.ID == "" || t.Artifacts == nil {
		return "", fmt.Errorf("the task that was made has no task_id or no list of artifacts")
	}
	return *t.ID, nil
}

// Step is an answered step.
type Step struct {
	Output     string // "" for none
	Failure    string // why the run behind it failed, as a bridge says it; "" for none
	Last       bool
	Additional json.RawMessage // additional_output; nil for none
	Raw        json.RawMessage // the whole answer
}

// answeredStep has the types that agbenchmark's client insists on.
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
		return Step{}, fmt.Errorf("a step is not as it should be: %w", err)
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

// failure reads additional_output.error, in which a bridge says that a run failed: the protocol has no word for that.
func failure(raw json.RawMessage) string {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(raw, &said) // of another form it is the agent's own
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
	Folder   *string `json:"relative_path"` // of some servers the whole path
}

// Path returns the path of the file, as the agent says: it may lead anywhere.
func (a Artifact) Path() string {
	if a.Folder == nil {
		return a.FileName
	}
	if rel := strings.TrimPrefix(*a.Folder, "/"); path.Base(rel) == a.FileName {
		return rel
	}
	return path.Join(strings.TrimPrefix(*a.Folder, "/"), a.FileName)
}

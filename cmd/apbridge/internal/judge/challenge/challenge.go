// Package challenge reads, selects and orders challenges in agbenchmark's format (BuiltinChallengeSpec in
// agbenchmark/challenges/builtin.py): a data.json next to the folders artifacts_in and custom_python, and a suite.json
// above it in old versions. Package judge and the command bench use it. Start reading at Load.
package challenge

import (
	"embed"
	"encoding/json"
	"io/fs"
	"strings"
	"time"
)

// Challenge is one data.json with its folders.
type Challenge struct {
	EvalID       string   `json:"eval_id"`
	Name         string   `json:"name"`
	Category     []string `json:"category"`
	Task         string   `json:"task"` // the prompt
	Dependencies []string `json:"dependencies"`
	Cutoff       int      `json:"cutoff"` // seconds; 0 means 60
	Ground       Ground   `json:"ground"`
	Info         Info     `json:"info"`

	Path string `json:"-"` // of its data.json, below the loaded folder
	// Optional are those of its categories that run only if they are selected.
	Optional []string `json:"-"`
	// In are the files for the agent, uploaded before its first step.
	In []File `json:"-"`
	// Python are files that are added to the agent's files for judging.
	Python []File `json:"-"`
}

// Ground defines success.
type Ground struct {
	Answer           string   `json:"answer"` // for readers and judging models
	ShouldContain    []string `json:"should_contain"`
	ShouldNotContain []string `json:"should_not_contain"`
	// Files are the judged files. ".txt" means each such file in the root; anything else is one path.
	Files         []string `json:"files"`
	CaseSensitive *bool    `json:"case_sensitive"` // nil means true
	Eval          Eval     `json:"eval"`
}

// Values of Eval.Type.
const (
	ByText   = "file"   // the text of a file decides
	ByOutput = "python" // the output of a program decides
	ByPytest = "pytest" // pytest decides
	ByModel  = "llm"    // a model decides
)

type Eval struct {
	Type string `json:"type"`
	// Scoring and Template define the prompt for a model, only for type llm.
	Scoring  string `json:"scoring,omitempty"`
	Template string `json:"template,omitempty"`
	// Examples show a model how to score. In agbenchmark they are a string; here they may be any JSON.
	Examples json.RawMessage `json:"examples,omitempty"`
}

// Values of Eval.Scoring: 0 to 100, 1 to 10, 0 or 1.
const (
	Percentage = "percentage"
	Scale      = "scale"
	Binary     = "binary"
)

// Values of Eval.Template: the meaning of Ground.Answer for the model.
const (
	Rubric    = "rubric"
	Reference = "reference"
	Question  = "question"
)

type Info struct {
	Difficulty  string   `json:"difficulty"`
	Description string   `json:"description"`
	SideEffects []string `json:"side_effects"`
}

// File is a file in a folder of a challenge.
type File struct {
	Path    string // with slashes, below the folder
	Content []byte
}

//go:embed builtin
var builtin embed.FS

// Builtin returns the embedded challenges.
func Builtin() (Found, error) {
	below, err := fs.Sub(builtin, "builtin")
	if err != nil {
		return Found{}, err
	}
	return Load(below, "builtin")
}

// Limit returns the time limit: the cutoff, or agbenchmark's default of a minute.
func (c Challenge) Limit() time.Duration {
	if c.Cutoff == 0 {
		return time.Minute
	}
	return time.Duration(c.Cutoff) * time.Second
}

// Canonical returns a name for comparisons. Dependencies and command lines may use the prefix "Test", which agbenchmark
// adds to names.
func Canonical(name string) string { return strings.TrimPrefix(strings.TrimSpace(name), "Test") }

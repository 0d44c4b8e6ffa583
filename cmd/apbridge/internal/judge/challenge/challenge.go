// Package challenge reads challenges in agbenchmark's data format: a data.json with the folders artifacts_in and
// custom_python beside it, and below an old suite.json. Package judge and the command bench call it. It runs and judges
// nothing.
//
// The format is that of agbenchmark's BuiltinChallengeSpec (agbenchmark/challenges/builtin.py).
package challenge

import (
	"embed"
	"encoding/json"
	"io/fs"
	"strings"
	"time"
)

// Challenge is one data.json with the folders beside it.
type Challenge struct {
	EvalID       string   `json:"eval_id"`
	Name         string   `json:"name"`
	Category     []string `json:"category"`
	Task         string   `json:"task"` // what the agent is told
	Dependencies []string `json:"dependencies"`
	Cutoff       int      `json:"cutoff"` // seconds; 0 is 60
	Ground       Ground   `json:"ground"`
	Info         Info     `json:"info"`

	Path string `json:"-"` // of its data.json, below the folder that was read
	// Optional are those of its categories that have to be asked for.
	Optional []string `json:"-"`
	// In are the files that the agent is given before its first step.
	In []File `json:"-"`
	// Python are files put beside the agent's when they are judged.
	Python []File `json:"-"`
}

// Ground is what makes a challenge a success.
type Ground struct {
	Answer           string   `json:"answer"` // for people, and for judges that are models
	ShouldContain    []string `json:"should_contain"`
	ShouldNotContain []string `json:"should_not_contain"`
	// Files are judged: ".txt" is every such file in the root, anything else one path.
	Files         []string `json:"files"`
	CaseSensitive *bool    `json:"case_sensitive"` // nil is true
	Eval          Eval     `json:"eval"`
}

// The kinds of Eval.Type.
const (
	ByText   = "file"   // the text of a file is looked at
	ByOutput = "python" // a file is run, and what it prints is looked at
	ByPytest = "pytest" // pytest decides
	ByModel  = "llm"    // a model decides
)

// Eval is how files are judged.
type Eval struct {
	Type string `json:"type"`
	// Scoring and Template are how a model is asked, by type llm alone.
	Scoring  string `json:"scoring,omitempty"`
	Template string `json:"template,omitempty"`
	// Examples show a model how to score: a text in agbenchmark, or any JSON.
	Examples json.RawMessage `json:"examples,omitempty"`
}

// The kinds of Eval.Scoring: 0 to 100, 1 to 10, 0 or 1.
const (
	Percentage = "percentage"
	Scale      = "scale"
	Binary     = "binary"
)

// The kinds of Eval.Template: what Ground.Answer is to the model.
const (
	Rubric    = "rubric"
	Reference = "reference"
	Question  = "question"
)

// Info describes a challenge.
type Info struct {
	Difficulty  string   `json:"difficulty"`
	Description string   `json:"description"`
	SideEffects []string `json:"side_effects"`
}

// File is a file below one of a challenge's folders.
type File struct {
	Path    string // with slashes, below the folder
	Content []byte
}

//go:embed builtin
var builtin embed.FS

// Builtin returns the challenges that come with the program.
func Builtin() (Found, error) {
	below, err := fs.Sub(builtin, "builtin")
	if err != nil {
		return Found{}, err
	}
	return Load(below, "builtin")
}

// Limit returns how long an agent may work on the challenge: the cutoff, or a minute as agbenchmark has it.
func (c Challenge) Limit() time.Duration {
	if c.Cutoff == 0 {
		return time.Minute
	}
	return time.Duration(c.Cutoff) * time.Second
}

// Canonical returns a name in the form that names are compared in: dependencies and command lines may spell a challenge
// with the "Test" that agbenchmark puts in front of its name.
func Canonical(name string) string { return strings.TrimPrefix(strings.TrimSpace(name), "Test") }

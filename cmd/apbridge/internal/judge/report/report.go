// Package report holds the results of challenges, and writes them: for people, for agbenchmark's tools, for CI servers,
// and for programs. It compares two reports. The command bench and package judge call it. It runs no challenge.
package report

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
)

// Status is how a try went.
type Status string

// Outcomes of a try.
const (
	Passed    Status = "passed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"    // it was not made, or not to its end
	NotJudged Status = "not judged" // it was made, and nothing here can say how well
)

// Attempt is one try of a challenge.
type Attempt struct {
	Number   int         `json:"attempt"` // from 1
	Status   Status      `json:"status"`
	Reason   string      `json:"reason,omitempty"` // one line, unless it passed
	TaskID   string      `json:"task_id,omitempty"`
	Thread   string      `json:"thread,omitempty"` // where a bridge shows what happened
	Steps    int         `json:"steps"`
	TimedOut bool        `json:"timed_out"`
	Seconds  float64     `json:"seconds"`
	Usage    agent.Usage `json:"usage"`
	// GraderTokens are those of the model that judged, in and out; nil is unknown.
	GraderTokens *int64 `json:"grader_tokens,omitempty"`
	// LastWords are the output of the last step, shortened.
	LastWords string `json:"last_words,omitempty"`
	Files     []File `json:"files,omitempty"`
	// Output is what a judged program that failed wrote.
	Output string `json:"output,omitempty"`
	// Answers are the steps as the agent sent them, the first megabyte of them.
	Answers []json.RawMessage `json:"-"`
}

// File is one file that was judged.
type File struct {
	Source  string `json:"source"`
	Passed  bool   `json:"passed"`
	Reason  string `json:"reason,omitempty"`
	Excerpt string `json:"excerpt,omitempty"` // its first lines, unless it passed
}

// Result is one challenge with its tries.
type Result struct {
	Challenge challenge.Challenge
	Attempts  []Attempt
}

// Report is how all challenges went, in their order.
type Report struct {
	Target      string // what was judged, as the user named it
	URL         string
	Command     string
	Began       time.Time
	Seconds     float64
	Interrupted bool // Ctrl-C came before the end
	Results     []Result
	// Faults are files that are no challenges.
	Faults []challenge.Fault
	// Regressions are the names of challenges that are expected to pass, by their history.
	Regressions map[string]bool
}

// Count returns the number of tries with a status.
func (r Report) Count(s Status) (n int) {
	for _, each := range r.Results {
		n += each.Count(s)
	}
	return n
}

// Count returns the number of tries with a status.
func (r Result) Count(s Status) (n int) {
	for _, a := range r.Attempts {
		if a.Status == s {
			n++
		}
	}
	return n
}

// Rate returns how many of the judged tries passed.
func (r Result) Rate() Rate { return Rate{r.Count(Passed), r.Count(Passed) + r.Count(Failed)} }

// Rate returns how many of all judged tries passed.
func (r Report) Rate() Rate {
	return Rate{r.Count(Passed), r.Count(Passed) + r.Count(Failed)}
}

// Flaky returns the names of challenges of which some tries passed and others failed.
func (r Report) Flaky() (names []string) {
	for _, each := range r.Results {
		if rate := each.Rate(); rate.Passed > 0 && rate.Passed < rate.Of {
			names = append(names, each.Challenge.Name)
		}
	}
	return names
}

// Usage returns what all tries took together, as far as the agent says.
func (r Report) Usage() (sum agent.Usage) {
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			sum.Tokens, sum.Cost = plus(sum.Tokens, a.Usage.Tokens), plus(sum.Cost, a.Usage.Cost)
		}
	}
	return sum
}

// GraderTokens returns the tokens that the judging model took for all tries; nil is unknown.
func (r Report) GraderTokens() (sum *int64) {
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			sum = plus(sum, a.GraderTokens)
		}
	}
	return sum
}

// plus adds what is known.
func plus[N int64 | float64](a, b *N) *N {
	if a == nil || b == nil {
		return orOther(a, b)
	}
	sum := *a + *b
	return &sum
}

func orOther[N any](a, b *N) *N {
	if a == nil {
		return b
	}
	return a
}

// Whole reports whether the run came to its end, no try failed, and every file was a challenge: the exit code is 0
// then. Skipped tries do not count.
func (r Report) Whole() bool {
	return r.Count(Failed) == 0 && !r.Interrupted && len(r.Faults) == 0
}

// Package report holds the results of challenges. It writes them as text and in the formats of agbenchmark's tools, CI
// servers and other programs. It shows progress while challenges run, and compares two reports. The command bench and
// package judge use it. Start reading at Report and Event.
package report

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
)

// Status is the outcome of an attempt.
type Status string

const (
	Passed    Status = "passed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"    // not made, or stopped
	NotJudged Status = "not judged" // made, but could not be judged
)

// Attempt is one attempt at a challenge.
type Attempt struct {
	Number   int         `json:"attempt"` // from 1
	Status   Status      `json:"status"`
	Reason   string      `json:"reason,omitempty"` // one line; "" if passed
	TaskID   string      `json:"task_id,omitempty"`
	Thread   string      `json:"thread,omitempty"` // its URL on a bridge
	Steps    int         `json:"steps"`
	TimedOut bool        `json:"timed_out"`
	Seconds  float64     `json:"seconds"`
	Usage    agent.Usage `json:"usage"`
	// GraderTokens are the tokens of the judging model; nil if unknown.
	GraderTokens *int64 `json:"grader_tokens,omitempty"`
	// LastWords are the shortened output of the last step.
	LastWords string `json:"last_words,omitempty"`
	Files     []File `json:"files,omitempty"`
	// Output is the output of a failed program.
	Output string `json:"output,omitempty"`
	// Answers are the steps as the agent sent them, up to a megabyte.
	Answers []json.RawMessage `json:"-"`
}

// File is one judged file.
type File struct {
	Source  string `json:"source"`
	Passed  bool   `json:"passed"`
	Reason  string `json:"reason,omitempty"`
	Excerpt string `json:"excerpt,omitempty"` // its first lines; "" if passed
}

// Result is one challenge with its attempts.
type Result struct {
	Challenge challenge.Challenge
	Attempts  []Attempt
}

// Report holds the results of a run in the order of the challenges.
type Report struct {
	Target      string // the agent as the user named it
	URL         string
	Command     string
	Began       time.Time
	Seconds     float64
	Interrupted bool // by Ctrl-C
	Results     []Result
	// Faults are invalid challenges.
	Faults []challenge.Fault
	// Regressions has the names of challenges that are expected to pass: see FindRegressions.
	Regressions map[string]bool
}

// Count returns the number of attempts with a status.
func (r Report) Count(s Status) (n int) {
	for _, each := range r.Results {
		n += each.Count(s)
	}
	return n
}

// Count returns the number of attempts with a status.
func (r Result) Count(s Status) (n int) {
	for _, a := range r.Attempts {
		if a.Status == s {
			n++
		}
	}
	return n
}

// Rate returns the pass rate of the judged attempts.
func (r Result) Rate() Rate { return Rate{r.Count(Passed), r.Count(Passed) + r.Count(Failed)} }

// Rate returns the pass rate of all judged attempts.
func (r Report) Rate() Rate {
	return Rate{r.Count(Passed), r.Count(Passed) + r.Count(Failed)}
}

// Flaky returns the names of challenges with both passed and failed attempts.
func (r Report) Flaky() (names []string) {
	for _, each := range r.Results {
		if rate := each.Rate(); rate.Passed > 0 && rate.Passed < rate.Of {
			names = append(names, each.Challenge.Name)
		}
	}
	return names
}

// Usage returns the total reported usage.
func (r Report) Usage() (sum agent.Usage) {
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			sum.Tokens, sum.Cost = plus(sum.Tokens, a.Usage.Tokens), plus(sum.Cost, a.Usage.Cost)
		}
	}
	return sum
}

// GraderTokens returns the total number of tokens of the judging model. nil means unknown.
func (r Report) GraderTokens() (sum *int64) {
	for _, each := range r.Results {
		for _, a := range each.Attempts {
			sum = plus(sum, a.GraderTokens)
		}
	}
	return sum
}

// plus adds two numbers. nil means unknown.
func plus[N int64 | float64](a, b *N) *N {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(*a + *b)
}

// Whole reports whether the exit code is 0: the run was completed, no attempt failed, and no challenge is invalid.
// Skipped attempts are ignored.
func (r Report) Whole() bool {
	return r.Count(Failed) == 0 && !r.Interrupted && len(r.Faults) == 0
}

// Kinds of Event.
const (
	EventBegin     = "begin"     // once, with Target and Of
	EventFault     = "fault"     // an invalid challenge
	EventChallenge = "challenge" // an attempt begins
	EventTask      = "task"      // a task was created
	EventUpload    = "upload"    // a file is uploaded
	EventAsk       = "ask"       // a step is requested
	EventStep      = "step"      // a step was executed
	EventJudge     = "judge"     // files are downloaded and judged
	EventResult    = "result"    // an attempt ended
	EventStop      = "stop"      // Ctrl-C; at most once
	EventEnd       = "end"       // once
)

// Event is something that happened during a run.
type Event struct {
	Time      time.Time        `json:"time"`
	Kind      string           `json:"event"`
	Target    string           `json:"target,omitempty"`
	Of        int              `json:"of,omitempty"` // attempts in all
	Challenge string           `json:"challenge,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
	Step      int              `json:"step,omitempty"` // from 1
	Text      string           `json:"text,omitempty"` // the output of a step, a file, or the id of a task
	Last      bool             `json:"last,omitempty"`
	Result    *Attempt         `json:"result,omitempty"`
	Fault     *challenge.Fault `json:"fault,omitempty"`
	Summary   *Summary         `json:"summary,omitempty"`
}

// Summary summarizes a report.
type Summary struct {
	Passed      int      `json:"passed"`
	Failed      int      `json:"failed"`
	Skipped     int      `json:"skipped"`
	NotJudged   int      `json:"not_judged"`
	Faults      int      `json:"faults"`
	Rate        float64  `json:"rate"`
	Low         float64  `json:"rate_low"` // of the 95 % interval
	High        float64  `json:"rate_high"`
	Flaky       []string `json:"flaky,omitempty"`
	Seconds     float64  `json:"seconds"`
	Tokens      *int64   `json:"tokens,omitempty"`
	Cost        *float64 `json:"cost,omitempty"`
	Grader      *int64   `json:"grader_tokens,omitempty"` // apart from Tokens
	Interrupted bool     `json:"interrupted,omitempty"`
}

func (r Report) Summary() Summary {
	low, high := r.Rate().Interval()
	u := r.Usage()
	return Summary{
		Passed: r.Count(Passed), Failed: r.Count(Failed), Skipped: r.Count(Skipped), NotJudged: r.Count(NotJudged), Faults: len(r.Faults),
		Rate: r.Rate().Share(), Low: low, High: high, Flaky: r.Flaky(), Seconds: r.Seconds, Tokens: u.Tokens, Cost: u.Cost, Grader: r.GraderTokens(), Interrupted: r.Interrupted,
	}
}

// Rate is a pass rate.
type Rate struct{ Passed, Of int }

// Share returns the rate from 0 to 1. It is 0 without attempts.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Passed) / float64(r.Of)
}

func (r Rate) always() bool { return r.Of > 0 && r.Passed == r.Of }

func (r Rate) never() bool { return r.Of > 0 && r.Passed == 0 }

// Interval returns the 95 % confidence interval of the rate, which is Wilson's score interval (E. B. Wilson, Journal of
// the American Statistical Association 22, 1927). Without attempts it is 0 to 1.
func (r Rate) Interval() (low, high float64) {
	if r.Of == 0 {
		return 0, 1
	}
	const z = 1.959964 // of the normal distribution, for 95 %
	n, p := float64(r.Of), r.Share()
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return max(0, (middle-half)/scale), min(1, (middle+half)/scale)
}

func (r Rate) String() string {
	if r.Of == 0 {
		return "none was judged"
	}
	low, high := r.Interval()
	return fmt.Sprintf("%d of %d (%.0f %%, 95 %% interval %.0f to %.0f %%)", r.Passed, r.Of, 100*r.Share(), 100*low, 100*high)
}

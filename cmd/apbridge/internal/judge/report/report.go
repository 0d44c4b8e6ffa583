// Package report holds the results of challenges, and writes them: for people, for agbenchmark's tools, for CI servers,
// and for programs. It compares two reports. The command bench and package judge call it. It runs no challenge.
package report

import (
	"encoding/json"
	"fmt"
	"math"
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

// The kinds of Event.
const (
	EventBegin     = "begin"     // once, with Target and Of
	EventFault     = "fault"     // a file that is no challenge
	EventChallenge = "challenge" // a try begins
	EventTask      = "task"      // the agent made a task
	EventUpload    = "upload"    // a file is sent
	EventAsk       = "ask"       // a step is asked for
	EventStep      = "step"      // a step was answered
	EventJudge     = "judge"     // files are brought and judged
	EventResult    = "result"    // a try ended
	EventStop      = "stop"      // Ctrl-C: at most once
	EventEnd       = "end"       // once
)

// Event is something that happened while challenges ran.
type Event struct {
	Time      time.Time        `json:"time"`
	Kind      string           `json:"event"`
	Target    string           `json:"target,omitempty"`
	Of        int              `json:"of,omitempty"` // tries in all
	Challenge string           `json:"challenge,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
	Step      int              `json:"step,omitempty"` // from 1
	Text      string           `json:"text,omitempty"` // a step's output, a file, a task's id
	Last      bool             `json:"last,omitempty"`
	Result    *Attempt         `json:"result,omitempty"`
	Fault     *challenge.Fault `json:"fault,omitempty"`
	Summary   *Summary         `json:"summary,omitempty"`
}

// Summary is a report in numbers.
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

// Summary returns the report in numbers.
func (r Report) Summary() Summary {
	low, high := r.Rate().Interval()
	u := r.Usage()
	return Summary{
		Passed: r.Count(Passed), Failed: r.Count(Failed), Skipped: r.Count(Skipped), NotJudged: r.Count(NotJudged), Faults: len(r.Faults),
		Rate: r.Rate().Share(), Low: low, High: high, Flaky: r.Flaky(), Seconds: r.Seconds, Tokens: u.Tokens, Cost: u.Cost, Grader: r.GraderTokens(), Interrupted: r.Interrupted,
	}
}

// Rate is how many of some tries passed.
type Rate struct{ Passed, Of int }

// Share returns the rate as a number from 0 to 1; 0 where there are no tries.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Passed) / float64(r.Of)
}

func (r Rate) always() bool { return r.Of > 0 && r.Passed == r.Of }

func (r Rate) never() bool { return r.Of > 0 && r.Passed == 0 }

// Interval returns the bounds of the true rate with a confidence of 95 %, by E. B. Wilson's score interval (Journal of
// the American Statistical Association 22, 1927). Of no tries it is 0 to 1.
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

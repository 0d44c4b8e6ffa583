package report

import (
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
)

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

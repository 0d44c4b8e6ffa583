package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
)

// runRow is one run in a list. Texts for people are made here, once for the page and for its module.
type runRow struct {
	RunID     string            `json:"run_id"`
	ThreadID  string            `json:"thread_id"`
	Agent     string            `json:"agent"`
	Request   string            `json:"request,omitempty"` // what was asked, in words
	Status    mapping.RunStatus `json:"status"`
	Parked    bool              `json:"parked,omitempty"`
	Owner     string            `json:"key"`
	CreatedAt time.Time         `json:"created_at"`
	EndedAt   *time.Time        `json:"ended_at,omitempty"`
	Took      string            `json:"took"`             // up to now, where it has not ended
	Reason    adapter.Reason    `json:"reason,omitempty"` // what it waits for
	Why       string            `json:"why,omitempty"`    // the same in a sentence, or why it failed
	Usage     *usage            `json:"usage,omitempty"`  // nil: not known
	Place     string            `json:"place"`            // in the list, for before
}

// rows makes the lines of lists.
type rows struct {
	explainer adapter.Runs
	used      *usages
}

func (b *rows) row(ctx context.Context, r mapping.Run, now time.Time) runRow {
	row := runRow{
		RunID: r.ID, ThreadID: r.ThreadID, Agent: r.Agent, Request: line(rule.RequestText(r.Kwargs)), Status: r.Status, Parked: r.Parked, Owner: r.Owner, CreatedAt: r.CreatedAt,
		Took: took(r, now), Place: markOfRun(r),
	}
	if !r.EndedAt.IsZero() {
		row.EndedAt = &r.EndedAt
	}
	if r.Fault != nil {
		row.Why = brief(mapping.WithoutAgent(r.Agent, r.Fault.Message))
	}
	if r.Status.Active() || r.Status == mapping.RunInterrupted {
		if e, err := b.explainer.ExplainRun(ctx, adapter.RunRef{RunID: r.ID}); err == nil { // it may be gone by now
			row.Reason, row.Why = e.Reason, brief(mapping.WithoutAgent(r.Agent, e.Message))
			if e.Question != nil && len(e.Question.Interrupts) > 0 {
				row.Why = line(rule.QuestionText(e.Question.Interrupts[0].Value))
			}
		}
	}
	return row
}

// briefly is how much of a sentence a list shows, in bytes: an agent may have written it.
const briefly = 400

// brief is the beginning of a long sentence. The page of its run has the whole.
func brief(text string) string {
	if len(text) <= briefly {
		return text
	}
	return strings.ToValidUTF8(text[:briefly], "") + "…"
}

// line is the beginning of a text, on one line.
func line(text string) string {
	text = brief(text)
	return strings.Join(strings.Fields(text), " ")
}

// took is how long a run took, or takes by now; one that has not begun takes nothing.
func took(r mapping.Run, now time.Time) string {
	switch {
	case r.StartedAt.IsZero():
		return "–"
	case r.EndedAt.IsZero():
		return Span(now.Sub(r.StartedAt))
	}
	return Span(r.EndedAt.Sub(r.StartedAt))
}

// Span returns a duration in words, for people.
func Span(d time.Duration) string {
	switch d = max(d, 0); {
	case d > 0 && d < time.Millisecond:
		return "under 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

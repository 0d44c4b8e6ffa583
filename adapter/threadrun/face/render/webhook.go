package render

import (
	"encoding/json"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/apbridge/apbridge/mapping/rule"
)

// WebhookBody returns the body of a completion hook: the run, its times, and its result. It is the same for both
// flavours.
func WebhookBody(run mapping.Run, out mapping.Outcome, values json.RawMessage) ([]byte, error) {
	run.Status = out.Status
	if out.Fault != nil {
		run.Fault = out.Fault
	}
	var e rawjson.Writer
	e.Open('{')
	runMembers(&e, &run, false)
	e.Key("run_started_at").Time(run.StartedAt, TimeLayout).Key("run_ended_at").Time(run.EndedAt, TimeLayout)
	// The time of the end of the run, because the body must be the same for every attempt.
	e.Key("webhook_sent_at").Time(latest(run.EndedAt, run.UpdatedAt), TimeLayout)
	e.Key("values").Raw(values, "{}")
	if len(out.Interrupts) > 0 {
		e.Key("interrupts")
		rule.WriteInterrupts(&e, out.Interrupts)
	}
	e.Close('}')
	return e.Bytes, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

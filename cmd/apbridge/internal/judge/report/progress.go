package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// PlainProgress returns a function that writes one line for each event. It ignores errors, since the report has
// everything.
func PlainProgress(w io.Writer) func(Event) {
	began := time.Now()
	return func(e Event) {
		if text := line(e); text != "" {
			fmt.Fprintf(w, "%7.1fs  %s\n", e.Time.Sub(began).Seconds(), oneLine.Replace(text))
		}
	}
}

// EventLines returns a function that writes each event as a line of JSON. It ignores errors.
func EventLines(w io.Writer) func(Event) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return func(event Event) { _ = e.Encode(event) }
}

// line describes an event, or returns "" for an event that is not worth a line.
func line(e Event) string {
	name := label(e)
	switch e.Kind {
	case EventBegin:
		return fmt.Sprintf("%s: attempts to make: %d", e.Target, e.Of)
	case EventFault:
		return "invalid challenge: " + e.Fault.Error()
	case EventStop:
		return "stopping: judging the files so far and skipping the rest; press Ctrl-C again to exit at once, without reports"
	case EventTask:
		return name + ": task " + e.Text
	case EventUpload:
		return name + ": uploading " + e.Text
	case EventStep:
		return fmt.Sprintf("%s: step %d%s", name, e.Step, said(e.Text))
	case EventResult:
		return name + ": " + outcome(*e.Result)
	}
	return ""
}

func label(e Event) string {
	if e.Attempt > 1 {
		return fmt.Sprintf("%s [%d]", e.Challenge, e.Attempt)
	}
	return e.Challenge
}

func said(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func outcome(a Attempt) string {
	if a.Status == Skipped && a.Steps == 0 {
		return string(a.Status) + ": " + a.Reason
	}
	return fmt.Sprintf("%s (%d steps, %.1f s)%s", a.Status, a.Steps, a.Seconds, said(a.Reason))
}

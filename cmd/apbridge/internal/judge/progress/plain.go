// Package progress shows challenges while they run: a line for each event in a pipe, lines that are rewritten on a
// terminal, JSON for programs. The command bench calls it. It judges nothing.
package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// Plain returns a function that writes one line for each event. What cannot be written is lost: the report is not.
func Plain(w io.Writer) func(report.Event) {
	began := time.Now()
	return func(e report.Event) {
		if text := line(e); text != "" {
			fmt.Fprintf(w, "%7.1fs  %s\n", e.Time.Sub(began).Seconds(), oneLine.Replace(text))
		}
	}
}

// Lines returns a function that writes each event as a line of JSON.
func Lines(w io.Writer) func(report.Event) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return func(event report.Event) { _ = e.Encode(event) } // as above
}

// line is an event in words; "" for one that says nothing new to a reader.
func line(e report.Event) string {
	name := label(e)
	switch e.Kind {
	case report.EventBegin:
		return fmt.Sprintf("%s: tries to make: %d", e.Target, e.Of)
	case report.EventFault:
		return "no challenge: " + e.Fault.Error()
	case report.EventStop:
		return "stopping: what is there is judged, and the rest skipped; Ctrl-C again ends it at once, without reports"
	case report.EventTask:
		return name + ": task " + e.Text
	case report.EventUpload:
		return name + ": uploading " + e.Text
	case report.EventStep:
		return fmt.Sprintf("%s: step %d%s", name, e.Step, said(e.Text))
	case report.EventResult:
		return name + ": " + outcome(*e.Result)
	}
	return ""
}

func label(e report.Event) string {
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

func outcome(a report.Attempt) string {
	if a.Status == report.Skipped && a.Steps == 0 {
		return string(a.Status) + ": " + a.Reason
	}
	return fmt.Sprintf("%s (%d steps, %.1f s)%s", a.Status, a.Steps, a.Seconds, said(a.Reason))
}

package engine

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// A run that has not ended has not failed: its calls are written down with "all" alone.
func TestCallsAreCapturedAsTheRunLeaves(t *testing.T) {
	t.Parallel()
	for status, failed := range map[mapping.RunStatus]bool{
		mapping.RunSuccess: false, mapping.RunInterrupted: false, mapping.RunError: true, mapping.RunTimeout: true,
		statusParked: false, statusHandedOver: false,
	} {
		for capture, want := range map[string]bool{captureOff: false, captureErrors: failed, captureAll: true} {
			if got := captured(capture, status); got != want {
				t.Errorf("%s of a run that is %s: %v", capture, status, got)
			}
		}
	}
	for want, out := range map[mapping.RunStatus]mapping.Outcome{
		statusParked:       {Parked: true, Status: mapping.RunSuccess},
		statusHandedOver:   {},
		mapping.RunTimeout: {Status: mapping.RunTimeout},
	} {
		if got := statusOf(out); got != want {
			t.Errorf("%+v leaves as %s, want %s", out, got, want)
		}
	}
}

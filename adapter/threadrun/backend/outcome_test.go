package backend

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// TestUnknownStatus checks that an undocumented status is ignored. If the state does not show the end of the run, the
// outcome is unknown.
func TestUnknownStatus(t *testing.T) {
	t.Parallel()
	whole := adaptertest.ChatPlay()
	ended := whole.State
	elsewhere := strings.Replace(ended, `"run_id":"{{run}}"`, `"run_id":"0190c9a2-0000-7000-8000-00000000dead"`, 1)
	silent := strings.Replace(ended, `"run_id":"{{run}}",`, ``, 1)
	further := strings.Replace(ended, `"next":[]`, `"next":["more"]`, 1)
	for name, c := range map[string]struct {
		state, status string
		end           mapping.RunStatus
		code          string
	}{
		"the state shows the end":             {state: ended, status: "sleeping", end: mapping.RunSuccess},
		"the state is of another run":         {state: elsewhere, status: "sleeping", code: mapping.CodeOutcomeUnknown},
		"the state does not say of which run": {state: silent, status: "sleeping", code: mapping.CodeOutcomeUnknown},
		"something comes next":                {state: further, status: "sleeping", code: mapping.CodeOutcomeUnknown},
		"another run, but a known status":     {state: elsewhere, status: "success", end: mapping.RunSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := whole
			play.Frames, play.State, play.Status = framesBut(whole.Frames, "checkpoints"), c.state, c.status
			tr := run(t, playing(play), adaptertest.NewTask(nil))
			if tr.Code() != c.code || c.code == "" && (tr.End() == nil || tr.End().Status != c.end) {
				t.Errorf("outcome %+v, error %v", tr.End(), tr.Err)
			}
			if c.code != "" && (tr.Err == nil || !strings.Contains(tr.Err.Error(), `"sleeping"`)) {
				t.Errorf("the error does not name the status: %v", tr.Err)
			}
		})
	}
}

// LangGraph's JavaScript server does not report the error with a failed run, but in the thread's state.
func TestFailureIsReadFromTheState(t *testing.T) {
	t.Parallel()
	failed := adaptertest.FailPlay()
	text := `"RangeError: the agent failed on purpose"`
	for name, c := range map[string]struct{ said, name, message string }{
		"a text":           {text, "", "RangeError: the agent failed on purpose"},
		"a name with it":   {`"{\"message\":\"out of range\",\"name\":\"RangeError\"}"`, "RangeError", "out of range"},
		"JSON without any": {`"{\"a\":1}"`, "", `{"a":1}`},
		"no text":          {`{"a":1}`, "", `Agent "agent" ended the run with an error and gave no reason.`},
		"nothing":          {`null`, "", `Agent "agent" ended the run with an error and gave no reason.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := failed
			play.Frames, play.State = framesBut(failed.Frames, "error"), strings.Replace(failed.State, text, c.said, 1)
			e := mapping.Classify(run(t, playing(play), adaptertest.NewTask(nil)).Err)
			if e.Code != mapping.CodeUpstreamError || e.Name != c.name || e.Message != c.message {
				t.Errorf("%s, %q: %q", e.Code, e.Name, e.Message)
			}
		})
	}
}

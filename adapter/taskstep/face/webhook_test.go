package face

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

func TestWebhookBody(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := mapping.Run{ID: "r", TaskID: "t", CreatedAt: at, EndedAt: at.Add(time.Second)}
	const times = `,"created_at":"2026-01-02T03:04:05.000000Z","modified_at":"2026-01-02T03:04:06.000000Z"}`
	for _, c := range []struct {
		name, kwargs, values string
		out                  mapping.Outcome
		want                 string
	}{
		{
			"success", `{"input":"hi","additional_input":{"a": 1.0}}`,
			`{"messages":[{"type":"human","content":"hi","id":"1"},{"type":"ai","content":"there","id":"2"}]}`,
			mapping.Outcome{Status: mapping.RunSuccess},
			`{"task_id":"t","run_id":"r","input":"hi","additional_input":{"a": 1.0},"status":"success","is_last":true,"output":"there","error":null` + times,
		},
		{
			"failure", `{"input":null}`, `{"messages":[]}`,
			mapping.Outcome{Status: mapping.RunError, Fault: &mapping.Fault{Code: "step_limit", Message: "Too many."}},
			`{"task_id":"t","run_id":"r","input":null,"additional_input":{},"status":"error","is_last":true,"output":null,"error":{"type":"step_limit","message":"Too many."}` + times,
		},
		{
			"question", ``, ``,
			mapping.Outcome{Status: mapping.RunInterrupted, Interrupts: []mapping.Interrupt{{ID: "i"}}},
			`{"task_id":"t","run_id":"r","input":null,"additional_input":{},"status":"interrupted","is_last":false,"output":null,"error":null` + times,
		},
		{
			"kwargs of another shape", `{"input":{"messages":[]},"additional_input":5}`, `{}`,
			mapping.Outcome{Status: mapping.RunSuccess},
			`{"task_id":"t","run_id":"r","input":null,"additional_input":{},"status":"success","is_last":true,"output":null,"error":null` + times,
		},
	} {
		run.Kwargs = json.RawMessage(c.kwargs)
		got, err := WebhookBody(run, c.out, json.RawMessage(c.values))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

func TestWebhookOfATopic(t *testing.T) {
	t.Parallel()
	run := mapping.Run{ID: "r", TaskID: "t", ThreadID: "h", Flavour: FlavourTopic}
	got, err := WebhookBody(run, mapping.Outcome{Status: mapping.RunSuccess}, nil)
	if want := `{"task_id":"t","topic_id":"h","run_id":"r",`; err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("got %s, %v", got, err)
	}
}

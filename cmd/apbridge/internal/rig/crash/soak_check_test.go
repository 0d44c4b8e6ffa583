package crash

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// done is a worker that did the same work for all texts.
type done struct{ tasks, steps, extra int }

func (d done) of(string) (int, int, int) { return d.tasks, d.steps, d.extra }

// TestSoakCheckFindsViolations checks that the soak's check accepts a correct history and names the violated invariant
// of an incorrect one.
func TestSoakCheckFindsViolations(t *testing.T) {
	t.Parallel()
	frames := []rig.Frame{{ID: "1.0", Event: "updates", Data: "a"}, {ID: "2.0", Event: "updates", Data: "b"}}
	sound := func() *history {
		return &history{
			runs: []*soakRun{
				{thread: "t", id: "r1", words: "w1", seen: frames, statuses: []string{"running", "success"}, replayed: frames, status: "success"},
				{thread: "t", id: "r2", words: "w2", replayed: []rig.Frame{{ID: "7.0", Event: "updates", Data: "c"}}, status: "error", code: "outcome_unknown"},
			},
			tasks:    []*soakTask{{id: "k", words: "w3", given: []string{"1", "2", "3"}, over: true, listed: []string{"1", "2", "3"}, there: true}},
			refusals: []soakRefusal{{"GET /", 503, http.Header{"X-Request-Id": {"x"}}, `{"message":"The database is away."}`}},
		}
	}
	well := done{1, tallySteps, 0}
	for name, c := range map[string]struct {
		agent done
		logs  string
		spoil func(*history)
		want  string
	}{
		"sound":                                {well, "", func(*history) {}, ""},
		"an acknowledged run is gone":          {well, "", func(h *history) { h.runs[0].status = "" }, "INV1"},
		"an acknowledged task is gone":         {well, "", func(h *history) { h.tasks[0].there = false }, "INV1"},
		"success without the work":             {done{1, 2, 0}, "", func(*history) {}, "INV1"},
		"a run that never ends":                {well, "", func(h *history) { h.runs[0].status, h.runs[0].statuses = "running", nil }, "INV2"},
		"a second end":                         {well, "", func(h *history) { h.runs[0].statuses[1] = "error" }, "INV2"},
		"an operation that cannot be finished": {well, "", func(h *history) { h.gaveUp("x") }, "INV2"},
		"two runs at once":                     {well, "", func(h *history) { h.runs[1].replayed[0].ID = "1.5" }, "INV3"},
		"a step done twice":                    {done{1, 4, 1}, "", func(*history) {}, "INV4"},
		"a task made twice":                    {done{2, tallySteps, 0}, "", func(*history) {}, "INV4"},
		"an end that says nothing true":        {well, "", func(h *history) { h.runs[1].code = "internal_error" }, "INV4"},
		"what was shown is gone":               {well, "", func(h *history) { h.runs[0].replayed = frames[:1] }, "INV5"},
		"what was shown is another": {well, "", func(h *history) {
			h.runs[0].replayed = []rig.Frame{frames[0], {ID: "2.0", Event: "updates", Data: "B"}}
		}, "INV5"},
		"frames out of order":                     {well, "", func(h *history) { h.runs[0].seen, h.runs[0].replayed = nil, []rig.Frame{frames[1], frames[0]} }, "INV5"},
		"a step handed out is not listed":         {well, "", func(h *history) { h.tasks[0].listed = []string{"1", "2", "4"} }, "INV5"},
		"steps behind the last":                   {well, "", func(h *history) { h.tasks[0].listed = append(h.tasks[0].listed, "4") }, "INV5"},
		"a prompt in the log":                     {well, `{"msg":"canary-1-2"}`, func(*history) {}, "INV6"},
		"a refusal without words":                 {well, "", func(h *history) { h.refusals[0].body = "" }, "INV8"},
		"a refusal without the id of its request": {well, "", func(h *history) { h.refusals[0].header = nil }, "INV8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sound()
			c.spoil(h)
			found := h.violations(c.agent, c.logs)
			if c.want == "" && len(found) > 0 || c.want != "" && len(found) == 0 {
				t.Fatalf("violations: %q", found)
			}
			for _, v := range found {
				if !strings.HasPrefix(v, c.want) {
					t.Errorf("violation %q, want one of %s", v, c.want)
				}
			}
		})
	}
}

package rule

import (
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// Pieces of a message are added up, and the whole message replaces them.
func TestUsageIsAddedUpOnce(t *testing.T) {
	t.Parallel()
	var sum RunTotals
	for _, e := range []mapping.Event{
		{Kind: mapping.KindDelta, Data: []byte(`[{"id":"m","usage_metadata":{"input_tokens":3,"output_tokens":1}},{}]`)},
		{Kind: mapping.KindDelta, Data: []byte(`[{"id":"m","usage_metadata":{"input_tokens":0,"output_tokens":2}},{}]`)},
		{Kind: mapping.KindDelta, Data: []byte(`[{"id":"n","usage_metadata":{"input_tokens":5,"output_tokens":7}},{}]`)},
		{Kind: mapping.KindUpdate, Data: []byte(`{"messages":[{"id":"m","usage_metadata":{"input_tokens":4,"output_tokens":4}},{"id":"o","content":"usage_metadata"}]}`)},
		{Kind: mapping.KindUpdate, Data: []byte(`{"messages":[{"usage_metadata":{"input_tokens":20,"output_tokens":30}},{"usage_metadata":{"input_tokens":1,"output_tokens":1}}]}`)},
		{Kind: mapping.KindState, Data: []byte(`{"messages":[{"id":"old","usage_metadata":{"input_tokens":100,"output_tokens":100}}]}`)},
		{Kind: mapping.KindUpdate, Data: []byte(`{"usage_metadata":"none", "x":[{"usage_metadata":3}`)},
	} {
		sum.Add(&e)
	}
	if got := sum.Total(); got != (mapping.RunTotals{Steps: 3, Usage: mapping.Usage{Input: 30, Output: 42}}) {
		t.Errorf("%+v", got)
	}
}

// The cost of a step is counted whether or not the step has a text, which the cost is then kept with.
func TestCostOfAStep(t *testing.T) {
	t.Parallel()
	for _, output := range []string{`"done"`, `{"n":1}`, ``} {
		var sum RunTotals
		ev := StepUpdate("run", "task", 1, mapping.StepInfo{ID: "s", Output: []byte(output), Additional: []byte(`{"task_cumulative_cost":0.25}`)}, nil, mapping.ApprovalAuto)
		sum.Add(&ev)
		if got := sum.Total(); got != (mapping.RunTotals{Steps: 1, Usage: mapping.Usage{Cost: 0.25}}) {
			t.Errorf("%s: %+v", output, got)
		}
	}
}

// AutoGPT reports the cost of its task so far. A smaller one is that of a new task.
func TestCostIsTheNewestOfEachTask(t *testing.T) {
	t.Parallel()
	var sum RunTotals
	for _, additional := range []string{
		`{"task_cumulative_cost":0.25}`, `{"task_cumulative_cost":0.5,"task_total_cost":0.5}`, `{"task_total_cost":"a lot"}`, `{"task_cumulative_cost":-3}`,
		`{"other_cost":9}`, `{"task_cumulative_cost":0.125}`,
	} {
		sum.Add(&mapping.Event{Kind: mapping.KindUpdate, Head: mapping.Head{Reduce: true, Step: &mapping.StepInfo{Additional: []byte(additional)}}})
	}
	if got := sum.Total(); got != (mapping.RunTotals{Steps: 6, Usage: mapping.Usage{Cost: 0.625}}) {
		t.Errorf("%+v", got)
	}
}

package state

import "testing"

// TestReduceRemovals checks that LangChain's RemoveMessage removes messages as in add_messages.
func TestReduceRemovals(t *testing.T) {
	t.Parallel()
	const three = `{"messages":[{"id":"a"},{"id":"b"},{"v":1}]}`
	for name, c := range map[string]struct{ state, delta, want string }{
		"one":                   {three, `{"messages":[{"type":"remove","id":"a","content":""}]}`, `{"messages":[{"id":"b"},{"v":1}]}`},
		"a single message":      {three, `{"messages":{"type":"remove","id":"b"}}`, `{"messages":[{"id":"a"},{"v":1}]}`},
		"one and a new one":     {three, `{"messages":[{"type":"remove","id":"a"},{"id":"c"}]}`, `{"messages":[{"id":"b"},{"v":1},{"id":"c"}]}`},
		"said again":            {three, `{"messages":[{"type":"remove","id":"a"},{"id":"a","v":2}]}`, `{"messages":[{"id":"a","v":2},{"id":"b"},{"v":1}]}`},
		"of the same delta":     {`{}`, `{"messages":[{"id":"a"},{"type":"remove","id":"a"}]}`, `{"messages":[]}`},
		"of what is not there":  {three, `{"messages":[{"type":"remove","id":"x"}]}`, three},
		"all":                   {three, `{"messages":[{"type":"remove","id":"__remove_all__"}]}`, `{"messages":[]}`},
		"all, and what follows": {three, `{"messages":[{"id":"z"},{"type":"remove","id":"__remove_all__"},{"id":"b","v":2},{"id":"c"}]}`, `{"messages":[{"id":"b","v":2},{"id":"c"}]}`},
		"all of nothing":        {`{}`, `{"messages":[{"type":"remove","id":"__remove_all__"}]}`, `{"messages":[]}`},
		"an older version's":    {three, `{"messages":[{"type":"remove","id":"a","additional_kwargs":{}}]}`, `{"messages":[{"type":"remove","id":"a","additional_kwargs":{}},{"id":"b"},{"v":1}]}`},
	} {
		before := mustFold(t, c.state)
		after, err := before.Reduce(raw(c.delta))
		if err != nil || string(after.JSON()) != c.want || after.Size() != len(c.want) {
			t.Errorf("%s: %s of %d bytes, %v; want %s", name, after.JSON(), after.Size(), err, c.want)
		}
		if string(before.JSON()) != c.state {
			t.Errorf("%s: the previous fold is %s", name, before.JSON())
		}
		diff, _ := before.DiffToReduced(after)
		if got, err := before.applyDiff(diff); err != nil || string(got.JSON()) != c.want {
			t.Errorf("%s: the difference %s makes %s, %v; want %s", name, diff, got.JSON(), err, c.want)
		}
	}
}

package mapping

import "testing"

func TestStepNumber(t *testing.T) {
	t.Parallel()
	for want, list := range map[int][]Checkpoint{
		0: {{Source: "input", Step: -1}, {Source: "input", Step: 4, Metadata: []byte(`{}`)}, {Source: "loop", Metadata: []byte(`{}`)}},
		1: {{Source: "loop"}, {Source: "loop", Step: 1, Metadata: []byte(`{}`)}},
		3: {{Source: "loop", Step: 2}, {Source: "update", Step: 3, Metadata: []byte(`{}`)}},
	} {
		for _, c := range list {
			if got := c.StepNumber(); got != want {
				t.Errorf("%+v has number %d, want %d", c, got, want)
			}
		}
	}
}

package selection

import "testing"

var someKeys = []string{"values", "metadata", "status"}

func TestPathSteps(t *testing.T) {
	t.Parallel()
	for path, ok := range map[string]bool{
		"values": true, "values.messages[-1].content": true, "values.a[0][1].b": true, "metadata.x": true, "status": true,
		"": false, ".": false, "values.": false, "values[": false, "values[x]": false, "values[0": false, "values[0]x": false, "soul": false, "[0]": false, "values..a": false,
	} {
		if _, got := pathSteps(path, someKeys); got != ok {
			t.Errorf("%q: %v", path, got)
		}
	}
}

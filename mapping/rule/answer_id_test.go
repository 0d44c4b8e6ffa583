package rule

import (
	"encoding/json"
	"testing"
)

func TestAnswersNothing(t *testing.T) {
	t.Parallel()
	for resume, want := range map[string]bool{
		``: true, `null`: true, ` null `: true, `{"q1":null}`: true, `{"q1":null,"q2": null}`: true,
		`{"q1":null,"q2":"blue"}`: false, `{"q1":{"a":null}}`: false, `{"q1":false}`: false, `""`: false, `[]`: false, `[null]`: false, `0`: false,
	} {
		if got := AnswersNothing(json.RawMessage(resume)); got != want {
			t.Errorf("%s: %v", resume, got)
		}
	}
}

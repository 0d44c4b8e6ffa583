package judge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
	"github.com/google/go-cmp/cmp"
)

// lengths grades a text by its length in percent and fails for long ones.
type lengths struct{ asked []string }

func (l *lengths) Grade(_ context.Context, _ challenge.Challenge, text string) (Grade, error) {
	l.asked = append(l.asked, text)
	tokens := int64(len(text))
	if len(text) > 100 {
		return Grade{Tokens: &tokens}, errors.New("the grader answered what is none")
	}
	return Grade{Share: float64(len(text)) / 100, Words: "so many", Tokens: &tokens}, nil
}

const forModel = `{"files":[".txt"],"eval":{"type":"llm","scoring":"percentage","template":"rubric"}}`

// The model gets one request with all files. More than nine tenths pass, as in agbenchmark. Without a grade the
// challenge is not judged.
func TestByModel(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, x := range []struct {
		name  string
		files map[string]string
		want  report.Status
		says  string
		asked []string
	}{
		{"good", map[string]string{"a.txt": long(91)}, report.Passed, "", []string{long(91)}},
		{"nine tenths", map[string]string{"a.txt": long(90)}, report.Failed, "a.txt: the grader's score is so many; more than 90 % is required", []string{long(90)}},
		{"two files", map[string]string{"a.txt": long(50), "b.txt": long(45), "c.md": "no"}, report.Passed, "", []string{long(50) + "\n" + long(45)}},
		{"no grade", map[string]string{"a.txt": long(101)}, report.NotJudged, "the grader answered what is none", []string{long(101)}},
		{"more than models read", map[string]string{"a.txt": long(256<<10 + 1)}, report.NotJudged, "a.txt: the files exceed the 256 KiB that are sent to a model", nil},
		{"no file", nil, report.Failed, "no file to judge: none ends with .txt; there are no files at all", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var model lengths
			result := try(t, &scripted{last: 1, files: x.files}, Options{Model: &model}, data(forModel))
			if result.Status != x.want || result.Reason != x.says {
				t.Errorf("%s: %q, want %s: %q", result.Status, result.Reason, x.want, x.says)
			}
			if diff := cmp.Diff(x.asked, model.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if (result.GraderTokens != nil) != (len(x.asked) > 0) || result.Usage.Tokens != nil {
				t.Errorf("tokens of the grader %v, of the agent %v", result.GraderTokens, result.Usage.Tokens)
			}
		})
	}
}

// Without a model the agent gets no request.
func TestNoModel(t *testing.T) {
	t.Parallel()
	a := &scripted{last: 1, files: map[string]string{"a.txt": "Hi"}}
	result := try(t, a, Options{}, data(forModel))
	if result.Status != report.Skipped || !strings.HasPrefix(result.Reason, "this challenge needs a model as a judge (ground.eval.type is llm), but none is configured") || len(a.calls) > 0 {
		t.Errorf("%+v, calls %q", result, a.calls)
	}
}

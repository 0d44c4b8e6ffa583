package benchmark

import (
	"context"
	"fmt"
	"strings"
)

// output is a text that is judged: a file's, or what running it printed.
type output struct {
	source string
	text   string
	failed bool // it was run and did not end well
}

// judge decides how the challenge went. It passes when one of the files named
// is as it should be, as in agbenchmark.
func (r *runner) judge(ctx context.Context, c Challenge, w *workspace, result *Result) error {
	if c.Ground.Eval.Type == "llm" {
		result.Status, result.Reason = NotJudged, "a model would have to judge this"
		return nil
	}
	outputs, err := r.outputs(ctx, c, w)
	if err != nil {
		return err
	}
	result.Status, result.Reason = Failed, "no file to judge"
	for _, out := range outputs {
		why := c.Ground.complaint(out)
		result.Files = append(result.Files, Judged{Source: out.source, Passed: why == "", Reason: why})
		if why == "" {
			result.Status, result.Reason = Passed, ""
		} else if result.Status != Passed {
			result.Reason = out.source + ": " + why
		}
	}
	if result.TimedOut && result.Status != Passed {
		result.Reason = "cut off; " + result.Reason
	}
	return nil
}

// outputs gathers what is judged.
func (r *runner) outputs(ctx context.Context, c Challenge, w *workspace) ([]output, error) {
	for _, f := range c.python {
		if err := w.write(f.path, f.content); err != nil {
			return nil, err
		}
	}
	if c.Ground.Eval.Type == "pytest" {
		return []output{r.python.pytest(ctx, w.dir, r.PythonTimeout)}, nil
	}
	var list []output
	for _, entry := range c.Ground.Files {
		paths, err := w.matching(entry)
		if err != nil {
			return nil, err
		}
		for _, at := range paths {
			out, err := r.output(ctx, c, w, at)
			if err != nil {
				return nil, err
			}
			list = append(list, out)
		}
	}
	return list, nil
}

func (r *runner) output(ctx context.Context, c Challenge, w *workspace, at string) (output, error) {
	if c.Ground.Eval.Type == "python" {
		return r.python.file(ctx, w.dir, at, r.PythonTimeout), nil
	}
	text, err := w.root.ReadFile(at)
	return output{source: at, text: string(text)}, err
}

// complaint is what is wrong with a text; "" for nothing.
func (g Ground) complaint(out output) string {
	if out.failed {
		text := strings.TrimSpace(out.text) // what went wrong stands at its end
		return "it failed: " + text[max(0, len(text)-300):]
	}
	in := func(word string) bool { return strings.Contains(out.text, word) }
	if g.CaseSensitive != nil && !*g.CaseSensitive {
		text := strings.ToLower(out.text)
		in = func(word string) bool { return strings.Contains(text, strings.ToLower(word)) }
	}
	for _, word := range g.ShouldContain {
		if !in(word) {
			return fmt.Sprintf("%q is missing", word)
		}
	}
	for _, word := range g.ShouldNotContain {
		if in(word) {
			return fmt.Sprintf("%q should not be there", word)
		}
	}
	return ""
}

package judge

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// maxText bounds the bytes of one judged file.
const maxText = 64 << 20

// verdict is the result of judging one attempt.
type verdict struct {
	Status report.Status // Passed, Failed or NotJudged
	Reason string        // one line; "" if passed
	Files  []report.File
	// Output is the output of a failed program with its traceback.
	Output string
	// GraderTokens are the tokens used by the judging model; nil if unknown.
	GraderTokens *int64
}

func failed(reason string) verdict { return verdict{Status: report.Failed, Reason: reason} }

// judge judges a workspace for a challenge of any type except llm. It adds the challenge's custom_python to it.
func (p *Python) judge(ctx context.Context, c challenge.Challenge, w *workspace) verdict {
	outputs, err := p.outputs(ctx, c, w)
	if err != nil {
		return failed(err.Error())
	}
	v := failed(noneOf(c, w))
	for _, out := range outputs {
		v.add(out, c.Ground)
	}
	return v
}

// noneOf returns the reason if there is no file to judge.
func noneOf(c challenge.Challenge, w *workspace) string {
	return "no file to judge: none ends with " + strings.Join(c.Ground.Files, " or ") + "; " + w.inventory()
}

// output is a text to judge: the contents of a file, or its output when run as a program.
type output struct {
	source string
	text   string
	failed string // why the program failed, or ""
}

// add judges one output. One correct output is enough to pass.
func (v *verdict) add(out output, g challenge.Ground) {
	why := problem(g, out)
	f := report.File{Source: out.source, Passed: why == "", Reason: why}
	if why != "" {
		f.Excerpt = excerpt(out.text)
	}
	v.Files = append(v.Files, f)
	switch {
	case why == "":
		v.Status, v.Reason, v.Output = report.Passed, "", ""
	case v.Status != report.Passed:
		v.Reason = out.source + ": " + why
		if out.failed != "" {
			v.Output = out.text
		}
	}
}

func (p *Python) outputs(ctx context.Context, c challenge.Challenge, w *workspace) ([]output, error) {
	for _, f := range c.Python {
		if err := w.Write(f.Path, func(to io.Writer) error { _, err := to.Write(f.Content); return err }); err != nil {
			return nil, err
		}
	}
	if c.Ground.Eval.Type == challenge.ByPytest {
		return []output{p.run(ctx, w.dir, "pytest", w.pytest()...)}, nil
	}
	var list []output
	for _, entry := range c.Ground.Files {
		paths, err := w.matching(entry)
		if err != nil {
			return nil, err
		}
		for _, at := range paths {
			out, err := p.output(ctx, c, w, at)
			if err != nil {
				return nil, err
			}
			list = append(list, out)
		}
	}
	return list, nil
}

func (p *Python) output(ctx context.Context, c challenge.Challenge, w *workspace, at string) (output, error) {
	if c.Ground.Eval.Type == challenge.ByOutput {
		return p.run(ctx, w.dir, at, at), nil
	}
	text, err := w.text(at, maxText)
	return output{source: at, text: text}, err
}

// problem returns the fault of a text, or "".
func problem(g challenge.Ground, out output) string {
	if out.failed != "" {
		return out.failed
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

const (
	excerptLines = 5
	excerptBytes = 400
)

func excerpt(text string) string {
	lines := strings.SplitAfterN(text, "\n", excerptLines+1)
	cut := len(lines) > excerptLines && lines[excerptLines] != ""
	text = strings.Join(lines[:min(len(lines), excerptLines)], "")
	if len(text) > excerptBytes {
		text, cut = text[:excerptBytes], true
	}
	text = strings.ToValidUTF8(strings.TrimRight(text, "\n"), "�")
	if cut {
		text += "\n…"
	}
	return text
}

// Model grades texts.
type Model interface {
	// Grade grades a text for a challenge of type llm. The error is a sentence for the report. It must be safe for
	// concurrent use.
	Grade(ctx context.Context, c challenge.Challenge, text string) (Grade, error)
}

type Grade struct {
	Share  float64 // of the best score, from 0 to 1
	Words  string  // such as "70 of 100"
	Tokens *int64  // input and output; nil if unknown
}

const (
	maxGraded  = 256 << 10 // bytes of one request to a model
	notYetGood = 0.9       // the share of the best score that must be exceeded, as in agbenchmark
)

// judgeByModel sends all files of the challenge together to a model, as agbenchmark does. It adds the challenge's
// custom_python to the workspace. Without a score nothing is known about the agent, so the challenge is not judged.
// agbenchmark would fail it.
func (p *Python) judgeByModel(ctx context.Context, m Model, c challenge.Challenge, w *workspace) verdict {
	outputs, err := p.outputs(ctx, c, w)
	if err != nil {
		return failed(err.Error())
	}
	if len(outputs) == 0 {
		return failed(noneOf(c, w))
	}
	var sources, texts []string
	for _, out := range outputs {
		sources, texts = append(sources, out.source), append(texts, out.text)
	}
	file := report.File{Source: strings.Join(sources, ", "), Excerpt: excerpt(texts[0])}
	text := strings.Join(texts, "\n")
	if len(text) > maxGraded {
		file.Reason = fmt.Sprintf("the files exceed the %d KiB that are sent to a model", maxGraded>>10)
		return verdict{Status: report.NotJudged, Reason: file.Source + ": " + file.Reason, Files: []report.File{file}}
	}
	grade, err := m.Grade(ctx, c, text)
	return graded(file, grade, err)
}

func graded(file report.File, grade Grade, err error) verdict {
	v := verdict{Status: report.Passed, GraderTokens: grade.Tokens}
	switch {
	case err != nil:
		v.Status, v.Reason, file.Reason = report.NotJudged, err.Error(), err.Error()
	case grade.Share <= notYetGood:
		file.Reason = fmt.Sprintf("the grader's score is %s; more than %.0f %% is required", grade.Words, 100*notYetGood)
		v.Status, v.Reason = report.Failed, file.Source+": "+file.Reason
	default:
		file.Passed, file.Excerpt = true, ""
	}
	v.Files = []report.File{file}
	return v
}

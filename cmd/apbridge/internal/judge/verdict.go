// Package verdict judges an agent's files: texts that should hold something, programs that should print something,
// pytest. Package judge calls it. It never calls the agent.
//
// The rules are those of agbenchmark's BuiltinChallenge (agbenchmark/challenges/builtin.py): a challenge is passed when
// one of the files named is as it should be.
package judge

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

// maxText bounds what is looked at of one file.
const maxText = 64 << 20

// Verdict is how the work of one try was judged.
type verdict struct {
	Status report.Status // Passed, Failed or NotJudged
	Reason string        // one line; "" when passed
	Files  []report.File
	// Output is what a program that failed wrote, with its traceback; "" for none.
	Output string
	// GraderTokens are what a model took that judged; nil is unknown.
	GraderTokens *int64
}

func failed(reason string) verdict { return verdict{Status: report.Failed, Reason: reason} }

// Judge judges a workspace, for a challenge of any type but llm. It adds the challenge's custom_python to it.
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

// noneOf is why there is nothing to judge, if there is not.
func noneOf(c challenge.Challenge, w *workspace) string {
	return "no file to judge: none ends with " + strings.Join(c.Ground.Files, " or ") + "; " + w.inventory()
}

// output is a text that is judged: a file's, or what running it printed.
type output struct {
	source string
	text   string
	failed string // why its program did not end well; "" when it did
}

// add counts one output: one that is as it should be is enough.
func (v *verdict) add(out output, g challenge.Ground) {
	why := complaint(g, out)
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

// outputs gathers what is judged.
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

// complaint is what is wrong with a text; "" for nothing.
func complaint(g challenge.Ground, out output) string {
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

// The first lines of a file that a report shows.
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
	// Grade grades how well a text does what a challenge of type llm wants. The error says in a sentence why there is
	// no grade. Safe for concurrent use.
	Grade(ctx context.Context, c challenge.Challenge, text string) (Grade, error)
}

// Grade is what a model gave.
type Grade struct {
	Share  float64 // of the best score, from 0 to 1
	Words  string  // as "70 of 100"
	Tokens *int64  // of the model, in and out; nil is unknown
}

// The longest question to a model, in bytes, and the share of the best score that is still too little; the second is
// agbenchmark's.
const (
	maxGraded  = 256 << 10
	notYetGood = 0.9
)

// JudgeByModel has a model look at a workspace, at all files of the challenge together, as agbenchmark does. It adds
// the challenge's custom_python to it.
//
// Where the model gives no score, nothing is known of the agent, so the challenge is not judged; agbenchmark fails it.
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
		file.Reason = fmt.Sprintf("more than the %d KiB that a model is asked to grade", maxGraded>>10)
		return verdict{Status: report.NotJudged, Reason: file.Source + ": " + file.Reason, Files: []report.File{file}}
	}
	grade, err := m.Grade(ctx, c, text)
	return graded(file, grade, err)
}

// graded is what a grade makes of the files.
func graded(file report.File, grade Grade, err error) verdict {
	v := verdict{Status: report.Passed, GraderTokens: grade.Tokens}
	switch {
	case err != nil:
		v.Status, v.Reason, file.Reason = report.NotJudged, err.Error(), err.Error()
	case grade.Share <= notYetGood:
		file.Reason = fmt.Sprintf("the grader gave %s; more than %.0f %% are needed", grade.Words, 100*notYetGood)
		v.Status, v.Reason = report.Failed, file.Source+": "+file.Reason
	default:
		file.Passed, file.Excerpt = true, ""
	}
	v.Files = []report.File{file}
	return v
}

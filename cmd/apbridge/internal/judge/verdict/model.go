package verdict

import (
	"context"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/challenge"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/report"
)

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
func (p *Python) JudgeByModel(ctx context.Context, m Model, c challenge.Challenge, w *Workspace) Verdict {
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
		return Verdict{Status: report.NotJudged, Reason: file.Source + ": " + file.Reason, Files: []report.File{file}}
	}
	grade, err := m.Grade(ctx, c, text)
	return graded(file, grade, err)
}

// graded is what a grade makes of the files.
func graded(file report.File, grade Grade, err error) Verdict {
	v := Verdict{Status: report.Passed, GraderTokens: grade.Tokens}
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

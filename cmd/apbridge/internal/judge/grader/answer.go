package grader

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// read takes the text of the first choice from an answer, and the tokens that it cost where the endpoint says.
func (g *Grader) read(raw []byte) (text string, tokens *int64, err error) {
	var a struct {
		Choices []struct {
			Message struct {
				Content *string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
		Usage struct {
			Total *int64 `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return "", nil, fmt.Errorf("the grader answered what is no chat completion: %s", g.shown(string(raw)))
	}
	if len(a.Choices) == 0 || a.Choices[0].Message.Content == nil {
		return "", a.Usage.Total, fmt.Errorf("the grader answered without a text: %s", g.shown(string(raw)))
	}
	return *a.Choices[0].Message.Content, a.Usage.Total, nil
}

// scoreOf is the number on the last line of an answer: models that think aloud do so before it.
func (g *Grader) scoreOf(answer string, most float64) (float64, error) {
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	score, err := strconv.ParseFloat(strings.TrimSpace(lines[len(lines)-1]), 64)
	if err != nil || !(score >= 0 && score <= most) { // NaN is none
		return 0, fmt.Errorf("the grader answered %s, which does not end with a score from 0 to %g", g.shown(answer), most)
	}
	return score, nil
}

// shown quotes the end of an answer, where the score should be, without the key.
func (g *Grader) shown(text string) string {
	return strconv.Quote(g.secrets.Ending(text, shownMost))
}

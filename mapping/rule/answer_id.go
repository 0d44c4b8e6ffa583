package rule

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// This file determines which open questions an answer answers.

// CheckAnswer refuses answers that a thread/run agent could not assign to a question: an id that is not open, or a bare
// value if several questions are open. LangGraph ignores the former and fails on the latter ("you must specify the
// interrupt id when resuming"). An empty value answers all questions.
func CheckAnswer(resume json.RawMessage, open []mapping.Interrupt) error {
	if _, err := answerByID(resume, open, isDigest); err != nil || len(open) < 2 {
		return err
	}
	switch string(rawjson.Trim(resume)) {
	case "", "null", "false", "0", `""`:
		return nil
	}
	switch named := Named(resume, open); {
	case len(named) > 0:
		return inOrder(named, open)
	case slices.ContainsFunc(open, func(q mapping.Interrupt) bool { return q.Nameless }):
		return nil
	}
	return WhichQuestion(open)
}

// inOrder refuses answers to questions without their own ids, except to the first of them. An agent that receives an
// answer without an id applies it to the first question.
func inOrder(named, open []mapping.Interrupt) error {
	nameless := func(q mapping.Interrupt) bool { return q.Nameless }
	first := slices.IndexFunc(open, nameless)
	if first < 0 || !slices.ContainsFunc(named, nameless) || len(named) == 1 && named[0].ID == open[first].ID {
		return nil
	}
	return invalidAnswer(open, "The agent gives its questions no ids, so they must be answered one at a time, in the order in which they were asked. Answer %s first.", open[first].ID)
}

// WhichQuestion returns the error for an answer that names none of several open questions.
func WhichQuestion(open []mapping.Interrupt) *mapping.Error {
	return invalidAnswer(open, "%d questions are open: %s. Name the one to answer: {id: value}.", len(open), listed(open))
}

// OtherAskers returns the error for an answer that names questions of other runs (others). open are all open questions.
func OtherAskers(others, open []mapping.Interrupt) *mapping.Error {
	return invalidAnswer(open, "%s was asked by another run or another agent. Answer the questions of each run separately, and name its agent. Open: %s.",
		listed(others), listed(open))
}

// NothingToResume returns the error for an answer for which no run waits. There is no question, it is already being
// answered, or its run was cancelled. open are the remaining questions.
func NothingToResume(threadID string, open []mapping.Interrupt) *mapping.Error {
	e := mapping.Errorf(mapping.Conflict, mapping.CodeNoPendingInterrupt, "Thread %s waits for other answers only. Open: %s.", threadID, listed(open))
	if len(open) == 0 {
		e = mapping.Errorf(mapping.Conflict, mapping.CodeNoPendingInterrupt, "Thread %s has no open question. Send input instead.", threadID)
	}
	e.Detail = mapping.NothingPending{ThreadID: threadID, Pending: idsOf(open)}
	return e
}

// UnansweredByParent returns the error for the call of a parent graph that was resumed without an answer to the open
// question here. Otherwise the graph would ask again forever.
func UnansweredByParent(threadID string, open []mapping.Interrupt) *mapping.Error {
	return invalidAnswer(open, "Thread %s waits for an answer to %s, and the calling graph was resumed without one. Resume it with the id of the question: Command(resume={id: value}).",
		threadID, listed(open))
}

// Named returns the open questions whose ids an answer names.
func Named(resume json.RawMessage, open []mapping.Interrupt) (named []mapping.Interrupt) {
	list, err := rawjson.Members(resume)
	if err != nil {
		return nil
	}
	for _, in := range open {
		if slices.ContainsFunc(list, func(m rawjson.Member) bool { return m.Name == in.ID }) {
			named = append(named, in)
		}
	}
	return named
}

// AnswersNothing reports whether a resume contains no answer: it is null, or has null for each named question, as
// input.respond does if its response is null.
func AnswersNothing(resume json.RawMessage) bool {
	if rawjson.IsNull(resume) {
		return true
	}
	list, err := rawjson.Members(resume)
	return err == nil && !slices.ContainsFunc(list, func(m rawjson.Member) bool { return !rawjson.IsNull(m.Value) })
}

// answerByID unwraps {interrupt_id: value}. An object has this form if it names an open question, or if all its keys
// look like ids.
func answerByID(resume json.RawMessage, open []mapping.Interrupt, isID func(string) bool) (json.RawMessage, error) {
	list, err := rawjson.Members(resume)
	if err != nil || len(list) == 0 {
		return resume, nil
	}
	var value json.RawMessage
	ids := true
	var unknown []string
	for _, m := range list {
		if isOpen(open, m.Name) {
			value = m.Value
			continue
		}
		unknown = append(unknown, m.Name)
		ids = ids && isID(m.Name)
	}
	switch {
	case len(unknown) == 0:
		return value, nil
	case value == nil && !ids:
		return resume, nil
	default:
		return nil, unknownInterrupt(unknown, open)
	}
}

func isOpen(open []mapping.Interrupt, id string) bool {
	for _, in := range open {
		if in.ID == id {
			return true
		}
	}
	return false
}

// looksLikeID recognises ids of 32 hexadecimal digits, as LangGraph and the bridge create them, and UUIDs.
func looksLikeID(s string) bool {
	return mapping.IsUUID(s) || isDigest(s)
}

// isDigest recognises ids of 32 hexadecimal digits.
func isDigest(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

func unknownInterrupt(unknown []string, open []mapping.Interrupt) *mapping.Error {
	what := "none is open"
	if len(open) > 0 {
		what = "open: " + listed(open)
	}
	return invalidAnswer(open, "There is no open question %s (%s). Answer one that is open, or send the bare value.", strings.Join(unknown, ", "), what)
}

// invalidAnswer returns an error of class Invalid with the pending ids.
func invalidAnswer(open []mapping.Interrupt, format string, args ...any) *mapping.Error {
	e := mapping.Invalidf(format, args...)
	e.Detail = map[string]any{"pending": idsOf(open)}
	return e
}

func listed(open []mapping.Interrupt) string { return strings.Join(idsOf(open), ", ") }

func idsOf(open []mapping.Interrupt) []string {
	ids := make([]string, 0, len(open))
	for _, in := range open {
		ids = append(ids, in.ID)
	}
	return ids
}

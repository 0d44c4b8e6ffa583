package rule

import (
	"encoding/json"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// codeUnknownInterrupt is the code of answers that a strict resume refuses.
const codeUnknownInterrupt = "unknown_interrupt"

// CheckStrictly refuses some answers that CheckAnswer and ParseAnswer accept, for a client with strict_resume: an
// answer that names no question although several are open, an empty object, and one that names open questions and
// others. Source: UnknownInterruptError of LangGraph, whose reasons are not_pending, empty_map and ambiguous.
func CheckStrictly(resume json.RawMessage, open []mapping.Interrupt) error {
	names, err := rawjson.Members(resume)
	named := len(Named(resume, open))
	switch {
	case err == nil && len(names) == 0:
		return notStrict("empty_map", "The answer is an empty object, which answers nothing.", open)
	case named > 0 && named < len(names):
		return notStrict("not_pending", "The answer names questions that are not open.", open)
	case named == 0 && len(open) > 1:
		return notStrict("ambiguous", "The answer names no question, and several are open. Name the one to answer: {id: value}.", open)
	}
	return nil
}

func notStrict(reason, what string, open []mapping.Interrupt) error {
	e := mapping.Errorf(mapping.Invalid, codeUnknownInterrupt, "%s The request asks for strict_resume.", what)
	e.Detail = map[string]any{"reason": reason, "pending": idsOf(open)}
	return e
}

package rule

import (
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// CheckStepAnswer refuses invalid answers to a question of a task/step agent, with an error of class Invalid that names
// the pending ids: no answer at all (null and "" are not consent), several answers to one question, and decisions that
// the question does not allow.
func CheckStepAnswer(o *mapping.RunOptions) error {
	a, err := ParseAnswer(o)
	if err != nil || o.Guessed != "" && a.Continue { // a default answer; the agent receives nothing
		return err
	}
	if q, err := answered(o); err != nil || q.Action == "" || q.takes(a.form) {
		return err
	} else {
		return invalidAnswer(o.Asked, "Question %s cannot be answered by %s. %s", listed(o.Asked), refusedForms[a.form], q.forms())
	}
}

// takes reports whether the request accepts an answer of this form.
func (q request) takes(f form) bool {
	switch f {
	case formConsent:
		return q.Approve
	case formEdit:
		return q.Edit
	case formNo:
		return q.Reject
	case formWords, formReject: // a person's text is always passed on
		return true
	default:
		return false
	}
}

var refusedForms = map[form]string{
	formNothing: "an empty answer",
	formConsent: "consent alone",
	formEdit:    "other arguments",
	formNo:      "a refusal without a reason",
	formIgnore:  "leaving it open",
	formSeveral: "several answers",
	formUnknown: "a decision of an unknown type",
}

// forms describes the accepted answers.
func (q request) forms() string {
	words := `text, plain or as {"type":"response","args":"…"}`
	if q.Action == askUser {
		return fmt.Sprintf(`Send %s, or {"decisions":[{"type":"edit","edited_action":{"name":%q,"args":{%q:"…"}}}]}.`, words, askUser, argument)
	}
	list := []string{`true, "yes", {"type":"accept"} or {"decisions":[{"type":"approve"}]} to continue`}
	if q.Edit {
		list = append(list, `{"decisions":[{"type":"edit","edited_action":{"name":"…","args":{}}}]}`)
	}
	list = append(list, `{"decisions":[{"type":"reject","message":"…"}]}`)
	return "Send " + strings.Join(list, ", ") + ", or " + words + "."
}

// IsAskUser reports whether a task/step agent asks its user, as opposed to a request for approval.
func IsAskUser(in mapping.Interrupt) bool {
	q, ok := requestIn(in.Value)
	return ok && q.Action == askUser
}

package mapping

import "encoding/json"

// This file is how a task/step agent is shown as a graph of one node.

// StepUpdate makes the logged form of step n of a task: node, the delta
// {messages?, files?} with the ai message StepID(taskID, n), and, when the
// step asks, its Interrupts. files is the object of changed files or nil.
func StepUpdate(runID, taskID string, n int, s StepInfo, files json.RawMessage, ask Approval) Event {
	panic("stub")
}

// AnswerDelta is the human message that an answer in text leaves in the state,
// or nil for an answer that only says "go on".
func AnswerDelta(runID string, a Answer) json.RawMessage { panic("stub") }

// Answer is what a resume means to a task/step agent.
type Answer struct {
	Continue bool   // go on: POST without a body
	Text     string // else these words
	Feedback bool   // Text replaces the proposed command (edit, reject)
}

// ParseAnswer reads a resume value by the rules of DESIGN "People in the
// loop": null, true, "", y, yes, {type: accept}, [{type}], {decisions}, or
// {interrupt_id: value}. open are the questions it may answer; an unknown
// interrupt id is an *Error of class Invalid that names the pending ids.
func ParseAnswer(resume json.RawMessage, open []Interrupt) (Answer, error) { panic("stub") }

// QuestionText is the text of a question to a person: a string as it is, a
// HumanInterrupt's question or description, an object's question, message,
// text, prompt or description, else compact JSON.
func QuestionText(value json.RawMessage) string { panic("stub") }

// ResumeFor turns the words of a task/step client (or the default answer) into
// the resume value for a question of a thread/run agent: typed
// HumanInterrupts get [{type: accept}] for yes and [{type: response, args}]
// for text, decisions-style ones their decisions, others the text itself.
func ResumeFor(question Interrupt, text string) json.RawMessage { panic("stub") }

package mapping

import (
	"errors"
	"fmt"
	"time"
)

// Class determines the status of an error. Each dialect maps classes to its own statuses.
type Class string

const (
	Invalid      Class = "invalid"      // the request is not acceptable (422)
	Malformed    Class = "malformed"    // the request is unreadable (400)
	NotFound     Class = "not_found"    // 404
	Conflict     Class = "conflict"     // 409
	TooLarge     Class = "too_large"    // 413
	TooSlow      Class = "too_slow"     // the request's body does not arrive (408)
	Unsupported  Class = "unsupported"  // content type (415)
	OutOfRange   Class = "out_of_range" // the range contains no byte of the file (416)
	NotAllowed   Class = "not_allowed"  // method (405)
	Unauthorized Class = "unauthorized" // 401
	Forbidden    Class = "forbidden"    // 403
	Limited      Class = "limited"      // 429
	Unavailable  Class = "unavailable"  // 503
	StorageFull  Class = "storage_full" // 507
	Upstream     Class = "upstream"     // the agent failed (502)
	Timeout      Class = "timeout"      // the agent was too slow (504)
	Internal     Class = "internal"     // 500; the text is hidden
)

// Codes of failed runs and refused requests that clients may rely on.
const (
	CodeUpstreamUnreachable = "upstream_unreachable"
	CodeUpstreamError       = "upstream_error"
	CodeBadUpstream         = "bad_upstream_response"
	CodeUpstreamLost        = "upstream_state_lost"
	CodeStepLimit           = "step_limit"
	CodeEventLimit          = "event_limit"
	CodeStepTimeout         = "step_timeout"
	CodeRunTimeout          = "run_timeout"
	CodeOutcomeUnknown      = "outcome_unknown"
	CodeAgentRejected       = "agent_rejected"
	CodeRepeatedQuestion    = "repeated_question"
	CodeIncompatibleState   = "incompatible_state"
	CodeNotSupported        = "not_supported"
	CodeThreadBusy          = "thread_busy"
	CodeNoPendingInterrupt  = "no_pending_interrupt"
	CodeKeyReused           = "idempotency_key_reused"
	CodeThreadNotFound      = "thread_not_found"
	CodeRunNotFound         = "run_not_found"
	CodeAgentNotFound       = "agent_not_found"
	CodeTaskNotFound        = "task_not_found"
	CodeStepNotFound        = "step_not_found"
	CodeArtifactNotFound    = "artifact_not_found"
	CodeItemNotFound        = "item_not_found"
	CodeCronNotFound        = "cron_not_found"
	CodeVersionNotFound     = "version_not_found"
	CodeAssistantThere      = "assistant_exists"
	CodeCheckpointNotFound  = "checkpoint_not_found"
	CodeRouteNotFound       = "route_not_found"
	CodeInvalidCursor       = "invalid_cursor"
	CodeCursorExpired       = "cursor_expired"
	CodeInvalid             = "invalid_request"
	CodeQueueFull           = "queue_full"
	CodeNamespace           = "namespace_not_allowed"
	CodeInternal            = "internal_error"
	CodeShutdown            = "shutting_down"
)

// Error is an error for a caller. Its message contains what happened, why, and what to do. It is created once, where
// the cause is known.
type Error struct {
	Class   Class
	Code    string // in snake_case, stable
	Name    string // the agent's own name of its error, such as ValueError; "" if unknown
	Message string // one or two sentences for display; no secrets, no prompts
	Detail  any    // further facts, JSON-encodable; nil for none
	Err     error  // the cause, for the log only
	// Wait is the time after which a retry makes sense, for Limited and Unavailable. 0 means a moment. NoWait means
	// that waiting alone does not help.
	Wait time.Duration
}

// Details from which a face can build a sentence in terms of its own requests, instead of using Message.
type (
	// Busy is the Detail of CodeThreadBusy if the refused request would have been accepted with another strategy.
	Busy struct {
		ThreadID string    `json:"thread_id"`
		RunID    string    `json:"run_id"`
		StartsAt time.Time `json:"starts_at,omitzero"` // zero if the run has started or can start at any moment
	}
	// BadStrategy is the Detail of a refused strategy. The error's Message begins with "multitask_strategy".
	BadStrategy struct {
		Strategy Strategy `json:"multitask_strategy"`
	}
	// NothingPending is the Detail of CodeNoPendingInterrupt.
	NothingPending struct {
		ThreadID string   `json:"-"`
		Pending  []string `json:"pending"` // the questions that can be answered; not nil
	}
	// Existing is the Detail of a refused creation that could have returned the existing object instead.
	Existing struct {
		ID string `json:"id"`
	}
)

// String describes the run.
func (b Busy) String() string {
	if b.StartsAt.IsZero() {
		return fmt.Sprintf("run %q", b.RunID)
	}
	return fmt.Sprintf("run %q, which is to start at %s", b.RunID, b.StartsAt.UTC().Format(time.RFC3339))
}

// NoWait is an Error's Wait if waiting does not help.
const NoWait time.Duration = -1

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Message + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error whose message is formatted as by fmt.Sprintf.
func Errorf(class Class, code, format string, args ...any) *Error {
	return &Error{Class: class, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalidf returns an Error of class Invalid.
func Invalidf(format string, args ...any) *Error {
	return Errorf(Invalid, CodeInvalid, format, args...)
}

// InvalidAt returns an Error of class Invalid about one field of a request.
func InvalidAt(where string, format string, args ...any) *Error {
	e := Invalidf("%s: %s", where, fmt.Sprintf(format, args...))
	e.Detail = map[string]any{"field": where}
	return e
}

// Classify returns the Error in err's chain. Any other error becomes an internal one, whose text must only be logged.
func Classify(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: Internal, Code: CodeInternal, Message: "Something went wrong inside the bridge. Its log has the cause under this request's id.", Err: err}
}

// Fault is the error of a run as it is stored and shown.
type Fault struct {
	Code    string `json:"code"`
	Name    string `json:"name,omitempty"` // the agent's own name of the error, or ""
	Message string `json:"message"`
}

// Text returns the message prefixed with the agent's own name for the error, as LangGraph's clients write it.
func (f *Fault) Text() string {
	if f.Name == "" || f.Name == f.Message {
		return f.Message
	}
	return f.Name + ": " + f.Message
}

// FaultOf returns the Fault for an error that ended a run.
func FaultOf(err error) *Fault {
	e := Classify(err)
	return &Fault{Code: e.Code, Name: e.Name, Message: e.Message}
}

package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/mapping"
)

// The error codes of the protocol (CDDL, ErrorCode).
const (
	errInvalid       = "invalid_argument"
	errCommand       = "unknown_command"
	errUnknown       = "unknown_error"
	errRun           = "no_such_run"
	errSubscription  = "no_such_subscription"
	errNamespace     = "no_such_namespace"
	errInterrupt     = "no_such_interrupt"
	errCheckpoint    = "no_such_checkpoint"
	errPermission    = "permission_denied"
	errNotSupported  = "not_supported"
	codeCommand      = "unknown_command"
	codeSubscription = "no_such_subscription"
	codeNamespace    = "no_such_namespace"
	codeInterrupt    = "no_such_interrupt"
)

// byCode maps the bridge's error codes to the specific codes of the protocol.
var byCode = map[string]string{
	codeCommand:                    errCommand,
	codeSubscription:               errSubscription,
	codeNamespace:                  errNamespace,
	codeInterrupt:                  errInterrupt,
	mapping.CodeNoPendingInterrupt: errInterrupt,
	mapping.CodeThreadNotFound:     errRun,
	mapping.CodeRunNotFound:        errRun,
	mapping.CodeCheckpointNotFound: errCheckpoint,
	mapping.CodeNotSupported:       errNotSupported,
}

// errorCode returns the protocol's code for an error.
func errorCode(e *mapping.Error) string {
	if code, ok := byCode[e.Code]; ok {
		return code
	}
	switch e.Class {
	case mapping.Invalid, mapping.Malformed, mapping.NotFound, mapping.Conflict, mapping.TooLarge:
		return errInvalid
	case mapping.Unauthorized, mapping.Forbidden:
		return errPermission
	default:
		return errUnknown
	}
}

// MessageOf returns the message of an error for clients of this dialect.
func MessageOf(e *mapping.Error) string {
	switch d := e.Detail.(type) {
	case mapping.Busy:
		return fmt.Sprintf("Thread %q is busy with %s. Wait for it, cancel it, or send multitask_strategy enqueue, interrupt or rollback.", d.ThreadID, d)
	case mapping.NothingPending:
		if len(d.Pending) == 0 {
			return fmt.Sprintf("Thread %s has no open question for command.resume to answer. Send input instead.", d.ThreadID)
		}
	case mapping.Existing:
		return e.Message + ` Or send if_exists "do_nothing" to get it as it is.`
	}
	return e.Message
}

// answers reports whether an error belongs in the envelope of a command's reply. Failures of the bridge may be
// temporary. They become HTTP statuses instead, so that clients repeat the command.
func answers(e *mapping.Error) bool { return errorCode(e) != errUnknown }

// errorReply returns an ErrorResponse. id is null if the request was not a command.
func errorReply(id json.RawMessage, e *mapping.Error, meta func(*writer), spelling Spelling) []byte {
	w := &writer{spelling: spelling}
	w.open().text("type", "error").raw("id", id).text("error", errorCode(e)).text("message", MessageOf(e))
	if meta != nil {
		w.object("meta", func() { meta(w) })
	}
	return w.close().Bytes
}

// successReply returns a CommandResponse.
func successReply(id json.RawMessage, result, meta func(*writer), spelling Spelling) []byte {
	w := &writer{spelling: spelling}
	w.open().text("type", "success").raw("id", id)
	w.object("result", func() { result(w) })
	w.object("meta", func() { meta(w) })
	return w.close().Bytes
}

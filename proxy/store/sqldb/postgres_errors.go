package sqldb

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes (PostgreSQL documentation, appendix "Error Codes").
const (
	pgDuplicate   = "23505"
	pgNoText      = "22021" // character_not_in_repertoire: U+0000, or bytes that are not UTF-8
	pgDiskFull    = "53100"
	pgSerialize   = "40001"
	pgDeadlock    = "40P01"
	pgCanceled    = "57014" // statement_timeout, or an operator
	pgLockTimeout = "55P03"
	pgTooLong     = "25P04" // transaction_timeout
	pgIdle        = "25P03" // idle_in_transaction_session_timeout
	pgReadOnly    = "25006"
	pgConnections = "53300"
)

// ErrLapsed means that this process's lease had expired before it was renewed. Everything it held was released and may
// belong to another process.
var ErrLapsed = errors.New("store: the lease had ended")

// ErrUnknown means that it could not be determined whether an operation was committed. It must not be repeated before
// the database has been checked.
var ErrUnknown = mapping.Errorf(mapping.Unavailable, CodeUnavailable, "The bridge's database went away during a write, and it is not known whether the write succeeded. Check before you send the request again.")

func stateOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// passing reports whether a failure may be temporary and has left nothing behind.
func passing(err error) bool {
	switch state := stateOf(err); {
	case state == "":
		return unreachable(err)
	case state == pgCanceled, state == pgLockTimeout, state == pgTooLong, state == pgSerialize, state == pgDeadlock, state == pgIdle, state == pgReadOnly, state == pgConnections:
		return true
	default:
		return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P")
	}
}

// unreachable reports whether the server did not answer.
func unreachable(err error) bool {
	var dial *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &dial) || errors.As(err, &network) || pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}

// brokenOff reports whether the connection ended in the middle of a response, as when the server is killed. The rows
// read so far have already been handed out, so the read is not repeated.
func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "conn closed")
}

func (p *postgres) classify(err error) error {
	var known *mapping.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	state := stateOf(err)
	switch {
	case state == pgNoText:
		return caused(err, mapping.Invalid, mapping.CodeInvalid, "An id, key or other name must be UTF-8 without U+0000.")
	case state == pgDiskFull:
		return caused(err, mapping.StorageFull, CodeStorageFull, "The bridge's database cannot grow: its disk is full. Nothing was written; reading still works. Free some space and try again.")
	case passing(err), brokenOff(err), strings.HasPrefix(state, "53"), strings.HasPrefix(state, "58"), strings.HasPrefix(state, "XX"), strings.HasPrefix(state, "28"):
		return caused(err, mapping.Unavailable, CodeUnavailable, "The bridge's database cannot be reached or used at the moment. Try again; if that persists, an operator must look at it.")
	case strings.Contains(err.Error(), "closed pool"):
		return errClosed
	}
	return err
}

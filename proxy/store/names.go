package store

import "github.com/apbridge/apbridge/proxy/store/record"

// Types of the package that the parts of a Store share, for callers of a Store.
type (
	// Notice tells what another process has committed to the same database.
	Notice = record.Notice
	// NoticeKind says what a Notice is about.
	NoticeKind = record.NoticeKind
)

// The kinds of a Notice.
const (
	NoticeLogged  = record.NoticeLogged
	NoticePending = record.NoticePending
	NoticeStop    = record.NoticeStop
	NoticeGone    = record.NoticeGone
	NoticeDue     = record.NoticeDue
	NoticeAll     = record.NoticeAll
)

// Errors of operations.
var (
	ErrFenced  = record.ErrFenced
	ErrLapsed  = record.ErrLapsed
	ErrUnknown = record.ErrUnknown
)

// Codes of refusals.
const (
	CodeStorageFull = record.CodeStorageFull
	CodeUnavailable = record.CodeUnavailable
	CodeHeadMoved   = record.CodeHeadMoved
	CodeTaskMoved   = record.CodeTaskMoved
)

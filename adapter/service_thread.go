package adapter

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
)

// Threads creates, changes and reads threads.
type Threads interface {
	CreateThread(ctx context.Context, n ThreadRequest) (mapping.Thread, error)
	// GetThread returns the thread with its Values.
	GetThread(ctx context.Context, id string) (mapping.Thread, error)
	PatchThread(ctx context.Context, id string, p ThreadPatch) (mapping.Thread, error)
	// DeleteThread cancels an active run, then removes thread, runs, tasks, events, checkpoints and artifacts.
	DeleteThread(ctx context.Context, id string) error
	CopyThread(ctx context.Context, id, idempotencyKey string) (mapping.Thread, error)
	// SearchThreads returns a page of threads and the number of all matches. The threads are read with their values
	// while the caller iterates, so that only a few megabytes are held at a time. A thread that was deleted before that
	// is omitted.
	SearchThreads(ctx context.Context, q ThreadSearch) (threads iter.Seq2[mapping.Thread, error], total int, err error)
	CountThreads(ctx context.Context, q ThreadSearch) (int, error)
	ThreadStorage(ctx context.Context, id string) (ThreadStorage, error)

	// ListFileVersions returns all kept versions of all files, by path, then newest first.
	ListFileVersions(ctx context.Context, threadID string) ([]FileVersion, error)
	// OpenFileVersion reads one version. The caller closes it.
	OpenFileVersion(ctx context.Context, threadID string, version int64) (FileVersion, io.ReadSeekCloser, error)
	// ListRecalledItems returns the items of the long-term store that agents received on the thread, for at most limit
	// runs, newest first.
	ListRecalledItems(ctx context.Context, threadID string, limit int) ([]RecalledItems, error)

	// AwaitThread returns when the thread exists, or with ctx's error when ctx ends. A thread that the caller may not
	// see does not exist.
	AwaitThread(ctx context.Context, threadID string) error
	// ThreadPosition checks a cursor. It replaces a Live cursor by the newest position, so that no events before the
	// call of ThreadEvents are missed.
	ThreadPosition(ctx context.Context, threadID string, after Cursor) (Cursor, error)
	// ThreadReplayStart returns the position at which a reader must begin to get the events after a position with all
	// of their runs from the start. It refuses a position after which the log is incomplete (cursor_expired). For the
	// start of the thread it returns the first position with a complete log.
	ThreadReplayStart(ctx context.Context, threadID string, after Cursor) (ReplayStart, error)
	// ThreadEvents yields the thread's entries after a position in order, and follows the thread until ctx ends. They
	// include all runs, and updates between them, which have no RunID. If the thread is deleted, the iterator ends with
	// NotFound. If a run is deleted, its remaining entries are omitted. idle is as in RunEvents.
	ThreadEvents(ctx context.Context, threadID string, after Cursor, idle func()) iter.Seq2[*state.Entry, error]
}

// ThreadRequest is a request for a thread. Every field may be zero.
type ThreadRequest struct {
	ID       string // "" for a new one
	Metadata json.RawMessage
	OrGet    bool // return an existing thread instead of 409
	// Supersteps are initial states, each {updates: [{values, as_node}]}.
	Supersteps []Superstep
	TTL        time.Duration
	KeepLatest bool // after TTL delete the older states instead of the thread

	IdempotencyKey string
}

// Superstep is one step of the history that a new thread starts with.
type Superstep struct{ Updates []StateUpdate }

// ThreadPatch changes a thread. nil fields remain unchanged.
type ThreadPatch struct {
	Metadata   json.RawMessage   // merged key by key
	Values     json.RawMessage   // reduced into a new checkpoint
	Messages   []json.RawMessage // the same, in neutral form (type, content, id)
	Checkpoint string            // with Values or Messages: start from there
	TTL        *time.Duration
	KeepLatest bool // with TTL: as in ThreadRequest
}

// ThreadSearch selects threads by their properties and states.
type ThreadSearch struct {
	mapping.ThreadQuery
	Values   json.RawMessage // containment
	NoValues bool            // leave Values of the threads empty
}

// ThreadStorage is the size of a thread in the database, in bytes, without the database's overhead. Exact is false if
// only the newest events or files were counted.
type ThreadStorage struct {
	ThreadID string  `json:"thread_id"`
	Events   Storing `json:"events"`    // its log
	States   Storing `json:"states"`    // the snapshots among these
	Files    Storing `json:"artifacts"` // including older versions; bytes shared with copies of a thread are counted for each
	Total    int64   `json:"total_bytes"`
	// Exact is false if only the newest events or files were counted.
	Exact bool `json:"exact"`
}

// Storing is a number of rows and their size in bytes.
type Storing struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// FileVersion is the current version of a file, or one that a run or a fork replaced or removed.
type FileVersion struct {
	mapping.Artifact
	Version int64  // identifies it on its thread
	RunID   string // the run that wrote it; "" for a client, or if unknown
	Fate    FileFate
}

// FileFate is the reason why a version of a file is not the current one.
type FileFate string

const (
	FileCurrent   FileFate = "current"
	FileReplaced  FileFate = "replaced or removed" // by a run, which can still be undone
	FileOtherLine FileFate = "of another line"     // which the thread left with a fork
)

// RecalledItems are the items that an agent received for one run. Their values are not kept and may have changed since.
type RecalledItems struct {
	RunID string
	Items []mapping.ItemName
}

// ReplayStart is the position at which a reader of a thread's runs begins.
type ReplayStart struct {
	At          Cursor               // for ThreadEvents; all runs that are active after the requested position begin here or later
	Checkpoints []mapping.Checkpoint // made up to there, in order
}

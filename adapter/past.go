package adapter

import (
	"context"
	"io"

	"github.com/apbridge/apbridge/mapping"
)

// Past is what a thread keeps beside its present state. It changes nothing.
type Past interface {
	// Checkpoints lists the checkpoints of all lines of the thread without their states, newest first. Limit 0: all of
	// them. An unknown Before or At is NotFound.
	ListCheckpoints(ctx context.Context, threadID string, q HistoryQuery) ([]mapping.Checkpoint, error)
	// Files lists every version of every file that is still kept, by path, and of one path the newest first.
	ListFileVersions(ctx context.Context, threadID string) ([]FileVersion, error)
	// OpenFile reads one version; the caller closes.
	OpenFileVersion(ctx context.Context, threadID string, version int64) (FileVersion, io.ReadSeekCloser, error)
	// Told are the items of the long-term store that agents were told of on the thread, run by run, the newest first,
	// at most limit runs.
	ListRecalledItems(ctx context.Context, threadID string, limit int) ([]ToldItems, error)
}

// FileVersion is a file as it is, or as it was before a run or a fork replaced or removed it.
type FileVersion struct {
	mapping.Artifact
	Version int64  // names it on its thread
	RunID   string // the run that wrote it; "": a client, or it is not known any more
	Fate    FileFate
}

// FileFate is what became of a version of a file.
type FileFate string

const (
	FileCurrent   FileFate = "current"
	FileReplaced  FileFate = "replaced or removed" // by a run, which can still be taken back
	FileOtherLine FileFate = "of another line"     // which the thread has left by a fork
)

// ToldItems are the items that an agent was told of for one run. Their values are not kept: they may have changed
// since.
type ToldItems struct {
	RunID string
	Items []mapping.ItemName
}

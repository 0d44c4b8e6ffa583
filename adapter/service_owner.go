package adapter

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Owners exports and removes the data that the bridge keeps of one principal. It is for the administrator of a tenant:
// a principal that sees only a part of the tenant is refused.
type Owners interface {
	// HeldBy returns how much there is, and which agents have copies of it.
	HeldBy(ctx context.Context, who OwnerRef) (Held, error)
	// ExportOwner writes all of it as a tar archive. Data that is made or removed during the export may be in it, or
	// not. An error after the first byte leaves half an archive.
	ExportOwner(ctx context.Context, who OwnerRef, to io.Writer) error
	// RemoveOwner ends runs, lets agents delete their copies, and deletes. It reports each outcome in order and stops
	// if told returns an error; the next call removes the rest. A second call at the same time is Conflict.
	RemoveOwner(ctx context.Context, who OwnerRef, how Removing, told func(Removed) error) error
}

// OwnerRef names a principal: the id of a key, or ISSUER:SUBJECT. Tenant is nil for the caller's own.
type OwnerRef struct {
	ID     string
	Tenant *string
}

// Held is what is kept of a principal.
type Held struct {
	Owner  string       `json:"owner"`
	Tenant string       `json:"tenant"`
	Kinds  []HeldKind   `json:"kinds"`  // those of which there is something
	Copies []HeldCopies `json:"copies"` // what agents have of it
	Guest  []string     `json:"guest"`  // threads of others with runs or tasks of the principal's, up to HeldMost
}

// HeldMost bounds lists of ids.
const HeldMost = 1000

// HeldKind is how much there is of one kind. Bytes are those of its contents, without what the database adds.
type HeldKind struct {
	Kind   string     `json:"kind"`
	Count  int64      `json:"count"`
	Bytes  int64      `json:"bytes"`
	Oldest *time.Time `json:"oldest,omitempty"`
	Newest *time.Time `json:"newest,omitempty"`
}

// HeldCopies are the threads or tasks of an agent that are copies. Stays says why they cannot be deleted there; "":
// they can.
type HeldCopies struct {
	Agent string   `json:"agent"`
	Count int      `json:"count"`
	IDs   []string `json:"ids"` // up to HeldMost
	Stays string   `json:"stays,omitempty"`
}

// HeldThread is a thread in an export of what is kept of a principal, as people read it.
type HeldThread struct {
	ID       string               `json:"thread_id"`
	Status   mapping.ThreadStatus `json:"status"`
	Created  time.Time            `json:"created_at"`
	Updated  time.Time            `json:"updated_at"`
	Metadata json.RawMessage      `json:"metadata"`
	Values   json.RawMessage      `json:"values"`
}

// Removing says how a principal's data is removed.
type Removing struct {
	// LeaveCopies: a thread goes also where an agent that could delete its copy does not answer. Without it the thread
	// stays for the next call, since nothing else knows of the copy.
	LeaveCopies bool
	// KeepFile: a SQLite file is not made anew. Then it may still have bytes that were replaced earlier.
	KeepFile bool
}

// Outcomes of a removal, for each thing.
const (
	IsRemoved = "removed"
	IsKept    = "kept"   // it cannot be removed from here
	IsFailed  = "failed" // another call may remove it
)

// Removed is what became of one thing, or of several of a kind.
type Removed struct {
	Outcome string `json:"outcome"`
	Kind    string `json:"kind"` // thread, run, copy, items, database…
	ID      string `json:"id,omitempty"`
	Count   int    `json:"count,omitempty"`     // of several
	Agent   string `json:"agent,omitempty"`     // that has the copy
	Thread  string `json:"thread_id,omitempty"` // that it is of
	Why     string `json:"why,omitempty"`       // it is kept, or failed
}

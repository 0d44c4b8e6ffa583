package adapter

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// Owners exports and removes the data of one principal. It is for the administrator of a tenant: it refuses a principal
// that sees only a part of the tenant.
type Owners interface {
	// HeldBy returns the amount of data, and the agents that have copies of it.
	HeldBy(ctx context.Context, who OwnerRef) (Held, error)
	// ExportOwner writes all of the data as a tar archive. Data that is made or removed during the export may or may
	// not be included. After the first byte, an error leaves an incomplete archive.
	ExportOwner(ctx context.Context, who OwnerRef, to io.Writer) error
	// RemoveOwner ends runs, makes agents delete their copies, and deletes the data. It calls told with each outcome in
	// order, and stops if told returns an error. The next call then removes the rest. A concurrent call is Conflict.
	RemoveOwner(ctx context.Context, who OwnerRef, how Removing, told func(Removed) error) error
}

// OwnerRef names a principal: the id of a key, or ISSUER:SUBJECT. Tenant is nil for the caller's own.
type OwnerRef struct {
	ID     string
	Tenant *string
}

// Held summarizes a principal's data.
type Held struct {
	Owner  string       `json:"owner"`
	Tenant string       `json:"tenant"`
	Kinds  []HeldKind   `json:"kinds"`  // without empty ones
	Copies []HeldCopies `json:"copies"` // held by agents
	Guest  []string     `json:"guest"`  // threads of others with the principal's runs or tasks, up to HeldMost
}

// HeldMost limits lists of ids.
const HeldMost = 1000

// HeldKind is the amount of data of one kind. Bytes is the size of its contents without the database's overhead.
type HeldKind struct {
	Kind   string     `json:"kind"`
	Count  int64      `json:"count"`
	Bytes  int64      `json:"bytes"`
	Oldest *time.Time `json:"oldest,omitempty"`
	Newest *time.Time `json:"newest,omitempty"`
}

// HeldCopies are an agent's threads or tasks that are copies. Stays is the reason why they cannot be deleted there, or
// "".
type HeldCopies struct {
	Agent string   `json:"agent"`
	Count int      `json:"count"`
	IDs   []string `json:"ids"` // up to HeldMost
	Stays string   `json:"stays,omitempty"`
}

// HeldThread is a thread in an export of a principal's data, in readable form.
type HeldThread struct {
	ID       string               `json:"thread_id"`
	Status   mapping.ThreadStatus `json:"status"`
	Created  time.Time            `json:"created_at"`
	Updated  time.Time            `json:"updated_at"`
	Metadata json.RawMessage      `json:"metadata"`
	Values   json.RawMessage      `json:"values"`
}

// Removing are the options for the removal of a principal's data.
type Removing struct {
	// LeaveCopies removes a thread even if an agent that could delete its copy does not respond. Otherwise the thread
	// remains for the next call, because nothing else refers to the copy.
	LeaveCopies bool
	// KeepFile prevents the rewriting of a SQLite file, which may then still contain deleted bytes.
	KeepFile bool
}

// Outcomes of a removal, for each object.
const (
	IsRemoved = "removed"
	IsKept    = "kept"   // it cannot be removed from here
	IsFailed  = "failed" // another call may remove it
)

// Removed is the outcome for one object, or for several of a kind.
type Removed struct {
	Outcome string `json:"outcome"`
	Kind    string `json:"kind"` // thread, run, copy, items, database…
	ID      string `json:"id,omitempty"`
	Count   int    `json:"count,omitempty"`     // of several objects
	Agent   string `json:"agent,omitempty"`     // the one with the copy
	Thread  string `json:"thread_id,omitempty"` // the one it belongs to
	Why     string `json:"why,omitempty"`       // why it was kept, or why the removal failed
}

package adapter

import "context"

// Storage says what threads take of the database.
type Storage interface {
	ThreadStorage(ctx context.Context, id string) (ThreadStorage, error)
}

// ThreadStorage is what a thread takes of the database, in bytes of its own, without what the database adds to them.
type ThreadStorage struct {
	ThreadID string  `json:"thread_id"`
	Events   Storing `json:"events"`    // its log
	States   Storing `json:"states"`    // of these, those that are kept whole
	Files    Storing `json:"artifacts"` // with older versions; the bytes that copies of a thread share count for each
	Total    int64   `json:"total_bytes"`
	// Exact is false where there is more: the newest events, or files, are counted alone.
	Exact bool `json:"exact"`
}

// Storing is how many rows there are, and their bytes.
type Storing struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

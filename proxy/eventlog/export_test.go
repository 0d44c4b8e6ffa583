package eventlog

// Live returns the number of buffers in use, and Kept the size of the kept buffers without users.
func (l *Log) Live() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.live)
}

func (l *Log) Kept() int {
	l.kept.mu.Lock()
	defer l.kept.mu.Unlock()
	return l.kept.held
}

// Held returns the number of entries in memory for a run in use.
func (l *Log) Held(runID string) int {
	l.mu.Lock()
	b := l.live[runID]
	l.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// Folds returns the size of the cached states.
func (l *Log) Folds() int {
	l.folds.mu.Lock()
	defer l.folds.mu.Unlock()
	return l.folds.held
}

// Limits of a buffer, and of a listing.
const (
	ListingKeeps    = listingKeeps
	BufferEntries   = bufferEntries
	BufferTail      = bufferTail
	KeptBufferBytes = keptBufferBytes
)

package eventlog

// Live returns how many buffers are in use, and Kept how many bytes are kept of those without users.
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

// Held returns how many entries of a run in use are in memory.
func (l *Log) Held(runID string) int {
	l.mu.Lock()
	b := l.live[runID]
	l.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// Folds returns how many bytes of states are kept.
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

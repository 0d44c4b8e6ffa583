package eventlog

// Live tells how many tails are in use, and Kept how many bytes are kept of
// those that nobody uses.
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

// Limits of a tail.
const (
	TailEntries   = tailEntries
	KeptTailBytes = keptTailBytes
)

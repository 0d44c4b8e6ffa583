package eventlog

import "sync"

// readers counts the followers of runs by thread.
type readers struct {
	mu sync.Mutex
	of map[string]int
}

func (r *readers) enter(threadID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]int{}
	}
	r.of[threadID]++
}

func (r *readers) leave(threadID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[threadID]--; r.of[threadID] <= 0 {
		delete(r.of, threadID)
	}
}

// Reading reports whether a reader in this process follows a run of the thread and has not received its end.
func (l *Log) Reading(threadID string) bool {
	l.readers.mu.Lock()
	defer l.readers.mu.Unlock()
	return l.readers.of[threadID] > 0
}

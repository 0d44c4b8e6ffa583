package sqldb

import "sync"

// NoticeKind says what a Notice is about: a letter. Those but NoticeAll are their
// operations' business.
type NoticeKind byte

// NoticeAll: notices were lost. Look at everything.
const NoticeAll NoticeKind = 'a'

// Notice tells what another process has committed to the same database. It is
// a doorbell and no more: it may come late, twice or never, so whoever waits for
// it looks at the database now and then, too.
type Notice struct {
	Kind  NoticeKind
	About string // what it is about: an id or a word without spaces; "" where the kind says it all
}

// notices are on their way: out to other processes, and in from them. Safe for
// concurrent use.
type notices struct {
	heard chan Notice
	lost  bool          // heard was full; belongs to who calls hear
	kick  chan struct{} // rings when there is something to be told

	mu  sync.Mutex
	out map[Notice]struct{} // waiting to be told
}

const (
	heardMost = 1024
	toldMost  = 4096 // of more, NoticeAll is told
)

func newNotices() *notices {
	return &notices{heard: make(chan Notice, heardMost), out: map[Notice]struct{}{}, kick: make(chan struct{}, 1)}
}

func (n *notices) tell(w Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.out) >= toldMost {
		w = Notice{Kind: NoticeAll}
		clear(n.out)
	}
	n.out[w] = struct{}{}
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// take empties what waits to be told.
func (n *notices) take() map[Notice]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.out
	n.out = make(map[Notice]struct{}, len(out))
	return out
}

// hear passes a notice on; one that finds no room is made up for by the next
// that does. Called by one goroutine.
func (n *notices) hear(w Notice) {
	if n.lost {
		w = Notice{Kind: NoticeAll}
	}
	select {
	case n.heard <- w:
		n.lost = false
	default:
		n.lost = true
	}
}

package sqldb

import "sync"

// NoticeKind says what a Notice is about: a letter. Those but NoticeAll are their operations' business.
type NoticeKind byte

// NoticeAll: notices were lost. Look at everything.
const NoticeAll NoticeKind = 'a'

// Notice tells what another process has committed to the same database. It is a doorbell and no more: it may come late,
// twice or never, so what waits for it looks at the database now and then, too.
type Notice struct {
	Kind  NoticeKind
	About string // what it is about: an id or a word without spaces; "" where the kind says it all
}

// notices are on their way: out to other processes, and in from them. Safe for concurrent use.
type notices struct {
	incoming chan Notice
	lost     bool          // incoming was full; of the goroutine that calls receive
	wake     chan struct{} // wakes the goroutine that notifies

	mu  sync.Mutex
	out map[Notice]struct{} // waiting to be sent
}

const (
	incomingMost = 1024
	outMost      = 4096 // of more, NoticeAll is sent
)

func newNotices() *notices {
	return &notices{incoming: make(chan Notice, incomingMost), out: map[Notice]struct{}{}, wake: make(chan struct{}, 1)}
}

func (n *notices) notify(w Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.out) >= outMost {
		w = Notice{Kind: NoticeAll}
		clear(n.out)
	}
	n.out[w] = struct{}{}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// drain empties what waits to be sent.
func (n *notices) drain() map[Notice]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.out
	n.out = make(map[Notice]struct{}, len(out))
	return out
}

// receive passes a notice on; one that finds no room is made up for by the next that does. Called by one goroutine.
func (n *notices) receive(w Notice) {
	if n.lost {
		w = Notice{Kind: NoticeAll}
	}
	select {
	case n.incoming <- w:
		n.lost = false
	default:
		n.lost = true
	}
}

package sqldb

import "sync"

// NoticeKind is the kind of a Notice, a letter. Kinds other than NoticeAll are defined by the operations.
type NoticeKind byte

// NoticeAll means that notices were lost and the receiver must check everything.
const NoticeAll NoticeKind = 'a'

// Notice announces a commit of another process to the same database. It may arrive late, twice or never, so receivers
// also poll the database from time to time.
type Notice struct {
	Kind  NoticeKind
	About string // an id or a word without spaces; "" if the kind is enough
}

// notices buffers notices in both directions. Safe for concurrent use.
type notices struct {
	incoming chan Notice
	lost     bool          // incoming was full; used only by the goroutine that calls receive
	wake     chan struct{} // wakes the sending goroutine

	mu  sync.Mutex
	out map[Notice]struct{} // waiting to be sent
}

const (
	incomingMost = 1024
	outMost      = 4096 // if there are more, NoticeAll is sent instead
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

// drain returns and clears the notices that wait to be sent.
func (n *notices) drain() map[Notice]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.out
	n.out = make(map[Notice]struct{}, len(out))
	return out
}

// receive delivers a notice. If the channel is full, the notice is dropped and the next one becomes NoticeAll. It must
// be called from one goroutine.
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

package store

import "sync"

// NoticeKind says what a Notice is about.
type NoticeKind byte

const (
	NoticeLogged  NoticeKind = 'l' // something was logged for the run, or its standing changed
	NoticePending NoticeKind = 'p' // a run may be claimable that was not
	NoticeStop    NoticeKind = 's' // the run's holder is asked to stop it: see StopRequests
	NoticeGone    NoticeKind = 'g' // the run was deleted
	NoticeDue     NoticeKind = 'd' // something is to be done by the clock: see RingDue
	NoticeAll     NoticeKind = 'a' // notices were lost: look at everything
)

// Notice tells what another process has committed to the same database. It is
// a doorbell and no more: it may come late, twice or never, so whoever waits for
// it looks at the database now and then, too.
type Notice struct {
	Kind  NoticeKind
	RunID string // of NoticeLogged, NoticeStop and NoticeGone; of NoticeDue what it is
}

// What may be due by the clock.
const (
	dueExpiry  = "expiry"
	dueCron    = "cron"
	dueWebhook = "webhook"
)

// RingDue rings for what a NoticeDue says is due, or for all: whoever waits for
// Expiries, CronsChanged or Outbox looks again.
func (s *Store) RingDue(what string) {
	for name, bell := range s.bells() {
		if what == "" || what == name {
			ring(bell)
		}
	}
}

func (s *Store) bells() map[string]chan struct{} {
	return map[string]chan struct{}{dueExpiry: s.expiries, dueCron: s.crons, dueWebhook: s.outbox}
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// due rings once the operation is committed, in this process and the others.
func (s *Store) due(t *tx, what string) {
	t.after(func() { s.RingDue(what) })
	s.tell(t, NoticeDue, what)
}

// Notices is where notices of other processes come. It has one listener, and is
// nil where there are no other processes.
func (s *Store) Notices() <-chan Notice {
	if n := s.db.notices(); n != nil {
		return n.heard
	}
	return nil
}

// tell has the other processes told once the operation is committed.
func (s *Store) tell(t *tx, kind NoticeKind, runID string) {
	if n := s.db.notices(); n != nil {
		t.after(func() { n.tell(Notice{kind, runID}) })
	}
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

package store

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// Notice tells what another process has committed to the same database. About is a run,
// or what is due.
type Notice = sqldb.Notice

// NoticeKind says what a Notice is about.
type NoticeKind = sqldb.NoticeKind

// What a Notice may be about.
const (
	NoticeLogged  NoticeKind = 'l' // something was logged for the run, or its standing changed
	NoticePending NoticeKind = 'p' // a run may be claimable that was not
	NoticeStop    NoticeKind = 's' // the run's holder is asked to stop it: see StopRequests
	NoticeGone    NoticeKind = 'g' // the run was deleted
	NoticeDue     NoticeKind = 'd' // something is to be done by the clock: see RingDue
	NoticeAll                = sqldb.NoticeAll
)

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
func (s *Store) due(t *sqldb.Tx, what string) {
	t.After(func() { s.RingDue(what) })
	s.tell(t, NoticeDue, what)
}

// Notices is where notices of other processes come. It has one listener, and is
// nil where there are no other processes.
func (s *Store) Notices() <-chan Notice { return s.db.Notices() }

// tell has the other processes told once the operation is committed.
func (s *Store) tell(t *sqldb.Tx, kind NoticeKind, about string) {
	s.db.NotifyAfter(t, Notice{Kind: kind, About: about})
}

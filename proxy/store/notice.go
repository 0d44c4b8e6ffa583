package store

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// Notice tells what another process has committed to the same database. About is a run, what is due, or of a
// NoticePending the thread that no update of its state holds any more, or that a run has left while others wait there.
type Notice = sqldb.Notice

// NoticeKind says what a Notice is about.
type NoticeKind = sqldb.NoticeKind

// The kinds of a Notice.
const (
	NoticeLogged  NoticeKind = 'l'             // something was logged for the run, or its standing changed
	NoticePending NoticeKind = 'p'             // a run may be claimable that was not
	NoticeStop    NoticeKind = 's'             // the run's holder is asked to stop it: see StopRequests
	NoticeGone    NoticeKind = 'g'             // the run was deleted
	NoticeDue     NoticeKind = 'd'             // something is to be done by the clock: see RingDue
	NoticeAll                = sqldb.NoticeAll // notices were lost: look at everything
)

// Kinds of work that is due by the clock.
const (
	dueExpiry  = "expiry"
	dueCron    = "cron"
	dueWebhook = "webhook"
)

// bells ring in this process when there is something to be done by the clock: a thread's time to go, a cron, a
// delivery.
type bells struct{ ExpiryBell, CronBell, WebhookBell chan struct{} }

func newBells() bells {
	return bells{ExpiryBell: make(chan struct{}, 1), CronBell: make(chan struct{}, 1), WebhookBell: make(chan struct{}, 1)}
}

// RingDue rings for what a NoticeDue says is due, or for all: what waits for Retention.Expiries, Crons.Changed or
// Deliveries.Changed looks again.
func (b *bells) RingDue(what string) {
	for name, bell := range map[string]chan struct{}{dueExpiry: b.ExpiryBell, dueCron: b.CronBell, dueWebhook: b.WebhookBell} {
		if what == "" || what == name {
			wake(bell)
		}
	}
}

func wake(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// Due rings once the operation is committed, in this process and the others.
func (s *base) Due(t *sqldb.Tx, what string) {
	t.After(func() { s.RingDue(what) })
	s.Notify(t, NoticeDue, what)
}

// Notify has the other processes told once the operation is committed.
func (s *base) Notify(t *sqldb.Tx, kind NoticeKind, about string) {
	s.DB.NotifyAfter(t, Notice{Kind: kind, About: about})
}

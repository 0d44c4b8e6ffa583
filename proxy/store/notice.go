package store

import "github.com/apbridge/apbridge/proxy/store/sqldb"

// Notice announces a commit of another process to the same database. About is a run or the kind of due work. For a
// NoticePending it is the thread that a state update no longer holds, or that a run has left while others wait.
type Notice = sqldb.Notice

// NoticeKind is the kind of a Notice.
type NoticeKind = sqldb.NoticeKind

// The kinds of a Notice.
const (
	NoticeLogged  NoticeKind = 'l'             // events were logged for the run, or its status changed
	NoticePending NoticeKind = 'p'             // a run may have become claimable
	NoticeStop    NoticeKind = 's'             // the run's holder must stop it: see StopRequests
	NoticeGone    NoticeKind = 'g'             // the run was deleted
	NoticeDue     NoticeKind = 'd'             // timed work has changed: see WakeDue
	NoticeAll                = sqldb.NoticeAll // notices were lost: check everything
)

// Kinds of timed work.
const (
	dueExpiry  = "expiry"
	dueCron    = "cron"
	dueWebhook = "webhook"
)

// wakeups wake background work of this process when timed work has changed: expiring threads, crons, webhook deliveries.
type wakeups struct{ expiryWakeup, cronWakeup, webhookWakeup chan struct{} }

func newWakeups() wakeups {
	return wakeups{expiryWakeup: make(chan struct{}, 1), cronWakeup: make(chan struct{}, 1), webhookWakeup: make(chan struct{}, 1)}
}

// WakeDue wakes the listener of Retention.Expiries, Crons.Changed or Deliveries.Changed, depending on the subject of a
// NoticeDue, or all of them if what is empty.
func (w *wakeups) WakeDue(what string) {
	for name, ch := range map[string]chan struct{}{dueExpiry: w.expiryWakeup, dueCron: w.cronWakeup, dueWebhook: w.webhookWakeup} {
		if what == "" || what == name {
			wake(ch)
		}
	}
}

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Due calls WakeDue in this process and the others once the operation is committed.
func (s *base) Due(t *sqldb.Tx, what string) {
	t.After(func() { s.WakeDue(what) })
	s.Notify(t, NoticeDue, what)
}

// Notify sends a notice to the other processes once the operation is committed.
func (s *base) Notify(t *sqldb.Tx, kind NoticeKind, about string) {
	s.DB.NotifyAfter(t, Notice{Kind: kind, About: about})
}

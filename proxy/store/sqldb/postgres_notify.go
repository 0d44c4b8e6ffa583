package sqldb

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"
)

// notifier carries notices between the processes over one database by NOTIFY and LISTEN, each on a connection of its
// own: a NOTIFY takes a lock on the whole database while it commits, so it is no part of the transactions it tells of,
// and many notices go in one. Nothing is kept for a process that is away: when its connection is back it looks at
// everything.
type notifier struct {
	*notices
	connect func(context.Context) (*pgx.Conn, error)
	owner   string
	log     *zap.Logger

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

const (
	notifyPause = 5 * time.Millisecond // between two NOTIFYs, while notices gather
	notifyMost  = 7900                 // bytes of one; the server takes less than 8000
	notifyRetry = time.Second
	listenQuiet = 10 * time.Second // after which the connection that listens is tried
)

func newNotifier(connect func(context.Context) (*pgx.Conn, error), owner string, log *zap.Logger) *notifier {
	n := &notifier{notices: newNotices(), connect: connect, owner: owner, log: log}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// open begins to notify and to listen.
func (n *notifier) open(channel string) {
	n.running.Go(func() { n.keep(func(c *pgx.Conn) error { return n.notifyOthers(c, channel) }) })
	n.running.Go(func() { n.keep(func(c *pgx.Conn) error { return n.listen(c, channel) }) })
}

func (n *notifier) stop() {
	n.cancel()
	n.running.Wait()
}

// keep has use work on a connection, and on a new one when that breaks.
func (n *notifier) keep(use func(*pgx.Conn) error) {
	for n.ctx.Err() == nil {
		conn, err := n.connect(n.ctx)
		if err == nil {
			err = use(conn)
			closeSoon(conn)
		}
		if n.ctx.Err() == nil {
			n.log.Warn("notification connection lost; polling for changes by other processes", zap.Error(err))
			_ = pause.For(n.ctx, notifyRetry)
		}
	}
}

func closeSoon(conn *pgx.Conn) {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = conn.Close(ctx)
}

// notifyOthers sends what waits. When it ends, it has sent what came before notifier.stop.
func (n *notifier) notifyOthers(conn *pgx.Conn, channel string) error {
	for {
		select {
		case <-n.wake:
		case <-n.ctx.Done():
			return n.send(conn, channel)
		}
		if err := n.send(conn, channel); err != nil {
			return err
		}
		_ = pause.For(n.ctx, notifyPause)
	}
}

func (n *notifier) send(conn *pgx.Conn, channel string) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(n.ctx), 5*time.Second)
	defer stop()
	for _, text := range payloads(n.owner, n.drain()) {
		if _, err := conn.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, text); err != nil {
			return err
		}
	}
	return nil
}

// await is the next notification. A connection that is quiet for a while is asked whether it is still there: one that
// fell silent would never break.
func (n *notifier) await(conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		ctx, stop := context.WithTimeout(n.ctx, listenQuiet)
		got, err := conn.WaitForNotification(ctx)
		stop()
		if err == nil || n.ctx.Err() != nil || !pgconn.Timeout(err) {
			return got, err
		}
		ctx, stop = context.WithTimeout(n.ctx, askMost)
		err = conn.Ping(ctx)
		stop()
		if err != nil {
			return nil, err
		}
	}
}

// payloads write notices as "owner kind-and-id kind-and-id …".
func payloads(owner string, notices map[Notice]struct{}) (texts []string) {
	var b strings.Builder
	for n := range notices {
		if b.Len() > 0 && b.Len()+2+len(n.About) > notifyMost {
			texts = append(texts, b.String())
			b.Reset()
		}
		if b.Len() == 0 {
			b.WriteString(owner)
		}
		b.WriteByte(' ')
		b.WriteByte(byte(n.Kind))
		b.WriteString(n.About)
	}
	if b.Len() > 0 {
		texts = append(texts, b.String())
	}
	return texts
}

func (n *notifier) listen(conn *pgx.Conn, channel string) error {
	if _, err := conn.Exec(n.ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	n.receive(Notice{Kind: NoticeAll})
	for {
		got, err := n.await(conn)
		if err != nil {
			return err
		}
		from, rest, _ := strings.Cut(got.Payload, " ")
		if from == n.owner {
			continue
		}
		for word := range strings.FieldsSeq(rest) {
			n.receive(Notice{Kind: NoticeKind(word[0]), About: word[1:]})
		}
	}
}

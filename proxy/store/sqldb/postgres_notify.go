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

// notifier exchanges notices between the processes of one database with NOTIFY and LISTEN, each on its own connection.
// A NOTIFY takes a lock on the whole database while it commits, so it is not part of the announced transactions, and
// one NOTIFY carries many notices. Notices for a disconnected process are lost. When it reconnects, it checks
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
	notifyPause = 5 * time.Millisecond // between two NOTIFYs, to batch notices
	notifyMost  = 7900                 // payload limit in bytes; the server accepts less than 8000
	notifyRetry = time.Second
	listenQuiet = 10 * time.Second // idle time after which the listening connection is pinged
)

func newNotifier(connect func(context.Context) (*pgx.Conn, error), owner string, log *zap.Logger) *notifier {
	n := &notifier{notices: newNotices(), connect: connect, owner: owner, log: log}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

func (n *notifier) open(channel string) {
	n.running.Go(func() { n.keep(func(c *pgx.Conn) error { return n.notifyOthers(c, channel) }) })
	n.running.Go(func() { n.keep(func(c *pgx.Conn) error { return n.listen(c, channel) }) })
}

func (n *notifier) stop() {
	n.cancel()
	n.running.Wait()
}

// keep calls use with a connection, and again with a new one whenever use fails, until the notifier stops.
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

// notifyOthers sends pending notices. Before it returns on stop, it sends those that were added earlier.
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

// await returns the next notification. It pings a connection that has been quiet for listenQuiet, because a connection
// that has stopped responding would never fail by itself.
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

// payloads formats notices as "owner kind-and-id kind-and-id …".
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

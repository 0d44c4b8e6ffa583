package sqldb

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"
)

// bell carries notices between the processes over one database by NOTIFY and
// LISTEN, each on a connection of its own: a NOTIFY takes a lock on the whole
// database while it commits, so it is no part of the transactions it tells of,
// and many notices go in one. Nothing is kept for a process that is away: when
// its connection is back it looks at everything.
type bell struct {
	*notices
	cfg   *pgx.ConnConfig
	owner string
	log   *zap.Logger

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

const (
	bellPause = 5 * time.Millisecond // between two NOTIFYs, while notices gather
	bellMost  = 7900                 // bytes of one; the server takes less than 8000
	bellRetry = time.Second
	bellQuiet = 10 * time.Second // after which the connection that listens is tried
)

func newBell(cfg *pgx.ConnConfig, owner string, log *zap.Logger) *bell {
	b := &bell{notices: newNotices(), cfg: cfg, owner: owner, log: log}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// open begins to tell and to hear.
func (b *bell) open(channel string) {
	b.running.Go(func() { b.keep(func(c *pgx.Conn) error { return b.ring(c, channel) }) })
	b.running.Go(func() { b.keep(func(c *pgx.Conn) error { return b.listen(c, channel) }) })
}

func (b *bell) stop() {
	b.cancel()
	b.running.Wait()
}

// keep has use work on a connection, and on a new one when that breaks.
func (b *bell) keep(use func(*pgx.Conn) error) {
	for b.ctx.Err() == nil {
		conn, err := pgx.ConnectConfig(b.ctx, b.cfg.Copy())
		if err == nil {
			err = use(conn)
			closeSoon(conn)
		}
		if b.ctx.Err() == nil {
			b.log.Warn("the connection for notices broke; other processes are noticed by looking now and then", zap.Error(err))
			_ = pause(b.ctx, bellRetry)
		}
	}
}

func closeSoon(conn *pgx.Conn) {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = conn.Close(ctx)
}

// ring tells what waits to be told. When it ends, it has told what was told
// before bell.stop.
func (b *bell) ring(conn *pgx.Conn, channel string) error {
	for {
		select {
		case <-b.kick:
		case <-b.ctx.Done():
			return b.send(conn, channel)
		}
		if err := b.send(conn, channel); err != nil {
			return err
		}
		_ = pause(b.ctx, bellPause)
	}
}

func (b *bell) send(conn *pgx.Conn, channel string) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(b.ctx), 5*time.Second)
	defer stop()
	for _, text := range payloads(b.owner, b.take()) {
		if _, err := conn.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, text); err != nil {
			return err
		}
	}
	return nil
}

// next is the next notification. A connection that has nothing to tell for a while is asked whether
// it is still there: one that fell silent would never break.
func (b *bell) next(conn *pgx.Conn) (*pgconn.Notification, error) {
	for {
		ctx, stop := context.WithTimeout(b.ctx, bellQuiet)
		n, err := conn.WaitForNotification(ctx)
		stop()
		if err == nil || b.ctx.Err() != nil || !pgconn.Timeout(err) {
			return n, err
		}
		ctx, stop = context.WithTimeout(b.ctx, askMost)
		err = conn.Ping(ctx)
		stop()
		if err != nil {
			return nil, err
		}
	}
}

// payloads write notices as "owner kind-and-id kind-and-id …".
func payloads(owner string, told map[Notice]struct{}) (texts []string) {
	var b strings.Builder
	for n := range told {
		if b.Len() > 0 && b.Len()+2+len(n.About) > bellMost {
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

func (b *bell) listen(conn *pgx.Conn, channel string) error {
	if _, err := conn.Exec(b.ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	b.hear(Notice{Kind: NoticeAll})
	for {
		n, err := b.next(conn)
		if err != nil {
			return err
		}
		from, rest, _ := strings.Cut(n.Payload, " ")
		if from == b.owner {
			continue
		}
		for word := range strings.FieldsSeq(rest) {
			b.hear(Notice{Kind: NoticeKind(word[0]), About: word[1:]})
		}
	}
}

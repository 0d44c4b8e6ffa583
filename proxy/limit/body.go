package limit

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/pause"
)

// piece is the maximum size of a read of a counted body.
const piece = 64 << 10

// Body returns a request's body that counts towards the rate of uploads and is read no faster than that. It returns an
// error of class Limited if the rate is used up. Reading fails with such an error if the wait would be long.
func (l *Limiter) Body(ctx context.Context, body io.ReadCloser, who mapping.Principal) (io.ReadCloser, error) {
	most, bounded := int64(piece), false
	for _, s := range l.allowed.subjects(who) {
		rate := s.rate(Upload)
		if rate.n == 0 {
			continue
		}
		most, bounded = min(most, rate.n), true
		if _, err := l.takeOf(ctx, s, Upload, 1); err != nil {
			return nil, err
		}
	}
	if !bounded {
		return body, nil
	}
	return &paced{ReadCloser: body, l: l, ctx: ctx, who: who, most: int(most)}, nil
}

// paced is a body that is read no faster than a rate.
type paced struct {
	io.ReadCloser
	l    *Limiter
	ctx  context.Context // of the request
	who  mapping.Principal
	most int
}

func (p *paced) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b[:min(len(b), p.most)])
	if n > 0 {
		if failed := p.count(int64(n)); failed != nil {
			return 0, failed
		}
	}
	return n, err
}

// count waits until n more bytes are allowed, and returns an error if that takes long.
func (p *paced) count(n int64) error {
	for _, s := range p.l.allowed.subjects(p.who) {
		r := s.rate(Upload)
		if r.n == 0 {
			continue
		}
		if err := p.wait(s, r, min(n, r.n)); err != nil {
			return err
		}
	}
	return nil
}

const (
	// patience is the maximum wait for a piece of a body before the request is refused.
	patience = 5 * time.Second
	// lookAgain is the interval at which the rate is read again, since it may have changed.
	lookAgain = time.Second
)

func (p *paced) wait(s subject, r rate, n int64) error {
	b := p.l.bucketOf(s, Upload, r)
	for {
		wait, err := b.take(p.ctx, n)
		switch {
		case wait == 0 || err != nil:
			return err
		case wait > patience:
			p.l.refused(Upload, s.of)
			return s.overRate(Upload, r, wait)
		}
		if err := pause.For(p.ctx, min(wait, lookAgain)); err != nil {
			return errors.Join(context.Cause(p.ctx), err)
		}
	}
}

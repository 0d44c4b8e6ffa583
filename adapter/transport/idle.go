package transport

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"
)

// connect returns a connection that is unused and still open, or a new one.
func (d *Direct) connect(ctx context.Context, address string) (*conn, error) {
	for c := d.take(address); c != nil; c = d.take(address) {
		if !d.old(c) && !c.stale() {
			return c, nil
		}
		_ = c.Conn.Close()
	}
	c, err := d.rest.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return newConn(c, address, d.rest), nil
}

// old tells whether the peer may be about to close a connection.
func (d *Direct) old(c *conn) bool {
	return d.rest.IdleConnTimeout > 0 && time.Since(c.unused) >= d.rest.IdleConnTimeout
}

// take is the connection that was used last: the others may grow old.
func (d *Direct) take(address string) *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.idle[address]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	list[len(list)-1] = nil
	if d.idle[address] = list[:len(list)-1]; len(list) == 1 {
		delete(d.idle, address)
	}
	return c
}

// keep makes a connection ready for another call.
func (d *Direct) keep(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.idle[c.address]) >= cmp.Or(d.rest.MaxIdleConnsPerHost, http.DefaultMaxIdleConnsPerHost) {
		_ = c.Conn.Close()
		return
	}
	c.reused, c.unused = true, time.Now()
	d.idle[c.address] = append(d.idle[c.address], c)
	if d.timer == nil && d.rest.IdleConnTimeout > 0 {
		d.timer = time.AfterFunc(d.rest.IdleConnTimeout, func() { d.sweep(d.rest.IdleConnTimeout) })
	}
}

// sweep closes what was unused for so long, and comes again while there is more.
func (d *Direct) sweep(unused time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for address, list := range d.idle {
		list = slices.DeleteFunc(list, func(c *conn) bool {
			old := now.Sub(c.unused) >= unused
			if old {
				_ = c.Conn.Close()
			}
			return old
		})
		if d.idle[address] = list; len(list) == 0 {
			delete(d.idle, address)
		}
	}
	switch {
	case len(d.idle) > 0 && d.timer != nil:
		d.timer.Reset(max(unused/2, time.Millisecond))
	case d.timer != nil:
		d.timer.Stop()
		d.timer = nil
	}
}

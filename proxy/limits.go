package proxy

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter/body"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/guard"
	"github.com/apbridge/apbridge/proxy/passthrough"
)

const codeTooSlow = "body_too_slow"

// bodyGuard limits a request's body in size and time.
type bodyGuard struct {
	refuser
	limits config.Limits
	times  *times
}

func (g bodyGuard) Pass(x *guard.Exchange) bool {
	w, r := x.Writer, x.Request
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	limit, problem := g.bodyLimit(r)
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		g.refuse(w, r, problem())
		linger(w, r.Body)
		return false
	}
	from, paced := r.Body, g.paceBody(w, r)
	r.Body = body.Bounded(w, r, limit, problem)
	if r.ProtoMajor == 1 && !passthrough.Owns(r.URL.Path) { // its transport may still read the body
		x.AtEnd(func() {
			if tap := tapOf(r.Context()); tap != nil && tap.status >= http.StatusBadRequest && paced.leaves(r.ContentLength) {
				linger(w, from)
			}
		})
	}
	return true
}

const (
	lingering   = 5 * time.Second // maximum time for reading the rest of a refused body
	lingerPause = time.Second     // maximum wait for a piece of it
	lingerPiece = 1 << 20
	lingered    = 16 << 20 // maximum number of bytes of it
)

// linger gives a client that is still sending the chance to receive the refusal. A connection that is closed with
// unread bytes is reset, and the response is lost (RFC 9112 section 9.6). net/http waits for half a second without
// reading, which is not enough for a client that sends a lot.
func linger(w http.ResponseWriter, from io.Reader) {
	control := http.NewResponseController(w)
	if control.Flush() != nil {
		return
	}
	end := time.Now().Add(lingering)
	for range lingered / lingerPiece {
		now := time.Now()
		if now.After(end) || control.SetReadDeadline(now.Add(min(lingerPause, end.Sub(now)))) != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, from, lingerPiece); err != nil {
			return // all was read, or the client is gone, or slow
		}
	}
}

// bodyLimit returns the maximum length of a body, and the error for a longer one. The face checks the size of the file
// in a form that is within the limit.
func (g bodyGuard) bodyLimit(r *http.Request) (limit int64, problem func() *mapping.Error) {
	if streamed(r) {
		most := int64(g.limits.Artifact)
		return most + body.FormOverhead, func() *mapping.Error { return body.UploadTooLarge(most) }
	}
	most := int64(g.limits.Body)
	return most, func() *mapping.Error { return body.TooLarge(most) }
}

// streamed reports whether the body is an upload, which is written to the database as it arrives.
func streamed(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return strings.HasPrefix(kind, "multipart/")
}

// paceBody limits the time for which the bridge waits for the body. The first deadline is set before the body is read.
// If no handler reads the body, net/http does, to keep the connection.
func (g bodyGuard) paceBody(w http.ResponseWriter, r *http.Request) *pacedBody {
	p := &pacedBody{ReadCloser: r.Body, control: http.NewResponseController(w), patience: g.times.read, left: g.times.read}
	if streamed(r) {
		p.rate = int64(g.limits.UploadRate)
	} else {
		p.latest = time.Now().Add(g.times.body)
	}
	p.extend(time.Now())
	r.Body = p
	return p
}

// pacedBody extends the connection's read deadline with every read. Every piece of a body has a deadline, and a body
// that is not an upload also has one for the whole. An upload has a minimum rate instead: time spent waiting for it is
// subtracted from an allowance, which is full at the start, and each byte restores a part of it. Time in which the
// bridge itself does not read is not counted.
type pacedBody struct {
	io.ReadCloser
	control  *http.ResponseController
	patience time.Duration // for a piece; the whole of an upload's allowance
	latest   time.Time     // zero means no deadline for the whole
	rate     int64         // minimum rate of an upload in bytes per second; 0 means none
	left     time.Duration // of an upload's allowance
	ended    error         // why nothing more is read
	came     int64         // number of bytes read
}

// readByServer is the number of bytes of a body that net/http reads by itself before it answers
// (maxPostHandlerReadBytes).
const readByServer = 256 << 10

// leaves reports whether more of a body with the announced length may arrive than net/http reads by itself. It is
// called when the body is no longer read.
func (p *pacedBody) leaves(announced int64) bool {
	return p.ended == nil && (announced < 0 || announced-p.came > readByServer)
}

// Read sets no deadline after the end of the body. net/http then continues to read by itself, and an expired deadline
// would end the request's context.
func (p *pacedBody) Read(b []byte) (int, error) {
	if p.ended != nil {
		return 0, p.ended
	}
	began := time.Now()
	p.extend(began)
	n, err := p.ReadCloser.Read(b)
	p.came += int64(n)
	p.spend(time.Since(began), n)
	if p.rate > 0 {
		// Until the next read. HTTP/2 stops reading a body permanently if a deadline passes without a read.
		_ = p.control.SetReadDeadline(time.Now().Add(p.patience))
	}
	if errors.Is(err, io.EOF) {
		_ = p.control.SetReadDeadline(time.Time{})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = p.tooSlow(err)
	}
	p.ended = err
	return n, err
}

func (p *pacedBody) extend(now time.Time) {
	deadline := now.Add(p.patience)
	if p.rate > 0 {
		deadline = now.Add(p.left)
	}
	if !p.latest.IsZero() && p.latest.Before(deadline) {
		deadline = p.latest
	}
	_ = p.control.SetReadDeadline(deadline) // not supported by every writer
}

// spend subtracts the time spent waiting for n bytes from an upload's allowance.
func (p *pacedBody) spend(waited time.Duration, n int) {
	if p.rate > 0 {
		brought := time.Duration(float64(n) / float64(p.rate) * float64(time.Second))
		p.left = min(p.patience, max(0, p.left-waited)+brought)
	}
}

func (p *pacedBody) tooSlow(err error) error {
	e := mapping.Errorf(mapping.TooSlow, codeTooSlow, "The rest of the request's body did not arrive in time. Send the request again.")
	if p.rate > 0 {
		e = mapping.Errorf(mapping.TooSlow, codeTooSlow,
			"The upload was too slow: it must send %d bytes a second (limits.upload_rate). Nothing was stored; send it again.", p.rate)
	}
	e.Err = err
	return e
}

package proxy

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

const codeTooLarge = "body_too_large"

// multipartOverhead is allowed for the form around an upload, whose own size
// is the face's to judge.
const multipartOverhead = 1 << 20

// withLimits bounds a request's body in size and time.
func (s *Server) withLimits(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		limit, upload := s.bodyLimit(r)
		s.paceBody(w, r, upload)
		if r.ContentLength > limit {
			w.Header().Set("Connection", "close")
			s.refuse(w, r, mapping.Errorf(mapping.TooLarge, codeTooLarge,
				"The request's body has %d bytes, and limits.body of this bridge allows %d.", r.ContentLength, limit))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		next.ServeHTTP(w, r)
	})
}

func (s *Server) bodyLimit(r *http.Request) (limit int64, upload bool) {
	if streamed(r) {
		return int64(s.cfg.Limits.Artifact) + multipartOverhead, true
	}
	return int64(s.cfg.Limits.Body), false
}

// streamed reports whether the body is an upload, which is written to the database as
// it comes.
func streamed(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return strings.HasPrefix(kind, "multipart/")
}

// paceBody gives every piece of the body a deadline, and the whole one too
// unless it is an upload. The first is set before the body is read: if nobody
// reads it, net/http does, to keep the connection.
func (s *Server) paceBody(w http.ResponseWriter, r *http.Request, upload bool) {
	p := &pacedBody{ReadCloser: r.Body, control: http.NewResponseController(w), patience: s.times.read}
	if !upload {
		p.latest = time.Now().Add(s.times.body)
	}
	p.extend()
	r.Body = p
}

// pacedBody moves the connection's read deadline on with every read.
type pacedBody struct {
	io.ReadCloser
	control  *http.ResponseController
	patience time.Duration
	latest   time.Time // zero: no bound on the whole
}

func (p *pacedBody) Read(b []byte) (int, error) {
	p.extend()
	n, err := p.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		// net/http goes on reading to learn that the client left; a deadline
		// that ran out there would end the request's context.
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (p *pacedBody) extend() {
	deadline := time.Now().Add(p.patience)
	if !p.latest.IsZero() && p.latest.Before(deadline) {
		deadline = p.latest
	}
	_ = p.control.SetReadDeadline(deadline) // not every writer has one
}

package proxy

import (
	"mime"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// compressedFrom is the least length of an answer that is compressed, in bytes.
const compressedFrom = 1 << 10

// newCompression compresses the answers of next in the coding that a client prefers (RFC 9110 section 12.5.3): zstd or
// gzip.
func newCompression(next http.Handler) (*compression, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(compressedFrom), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	return &compression{next, wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&packedAnswer{ResponseWriter: w, plain: plainOf(w)}, r)
	}))}, nil
}

// compression compresses JSON and pages for clients that take it. Event streams, files and what must not be transformed
// go past it.
type compression struct {
	plain  http.Handler
	packed http.Handler
}

func (c *compression) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.by(w, r).ServeHTTP(w, r) }

// by is what answers the request.
func (c *compression) by(w http.ResponseWriter, r *http.Request) http.Handler {
	if r.Header.Get("Accept-Encoding") == "" || strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Add("Vary", "Accept-Encoding")
		return c.plain
	}
	return c.packed
}

// plainOf is the writer behind the compressing one.
func plainOf(w http.ResponseWriter) http.ResponseWriter {
	if u, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		return u.Unwrap()
	}
	return w
}

// packedAnswer decides by an answer's head whether it is compressed. The compressing writer holds back what is flushed
// before there is any content, and the errors of a flush, so everything else goes around it. A head that is flushed
// before any content says of no coding, and has to be kept to. Used by one goroutine.
type packedAnswer struct {
	http.ResponseWriter // compresses, until the head says otherwise
	plain               http.ResponseWriter
	decided, written    bool
}

func (p *packedAnswer) WriteHeader(status int) {
	if status >= http.StatusOK { // not 1xx
		p.decide()
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *packedAnswer) Write(b []byte) (int, error) {
	p.decide()
	p.written = true
	return p.ResponseWriter.Write(b)
}

// Flush lets handlers assert http.Flusher.
func (p *packedAnswer) Flush() { _ = p.FlushError() }

// FlushError is what http.ResponseController looks for.
func (p *packedAnswer) FlushError() error {
	if !p.written {
		p.sayPlain()
	}
	if f, ok := p.ResponseWriter.(http.Flusher); ok && p.ResponseWriter != p.plain {
		f.Flush()
	}
	return http.NewResponseController(p.plain).Flush()
}

// Unwrap leads http.ResponseController to the connection.
func (p *packedAnswer) Unwrap() http.ResponseWriter { return p.plain }

func (p *packedAnswer) decide() {
	if !p.decided {
		p.decided = true
		if !packable(p.Header()) {
			p.ResponseWriter = p.plain
		}
	}
}

// sayPlain has the compressing writer send the head, with the status that it was given, and compress nothing. Where
// there is no such writer any more the head has left, and this does nothing.
func (p *packedAnswer) sayPlain() {
	p.Header().Set(gzhttp.HeaderNoCompression, "1") // which it takes away
	_, _ = p.ResponseWriter.Write(nil)
	p.ResponseWriter = p.plain
}

// packable reports whether an answer with this head may be compressed. A file is sent as it is. An answer of which the
// face must know that all of it left says no-transform (RFC 9111 section 5.2.2.6): the end of a compressed one is
// written after the face is done.
func packable(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return (kind == "application/json" || kind == "text/html") && h.Get("Content-Disposition") == "" && !strings.Contains(h.Get("Cache-Control"), "no-transform")
}

package proxy

import (
	"compress/gzip"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// compressedFrom is the minimum length of a compressed response, in bytes.
const compressedFrom = 1 << 10

// compression compresses JSON and pages with gzip for clients that accept it (RFC 9110 section 12.5.3). Event streams,
// files and responses marked no-transform are sent as they are.
type compression struct{ next http.Handler }

func (c *compression) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept-Encoding")
	if r.Method == http.MethodHead || strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || !acceptsGzip(r.Header.Values("Accept-Encoding")) {
		c.next.ServeHTTP(w, r)
		return
	}
	z := &gzipResponse{ResponseWriter: w}
	c.next.ServeHTTP(z, r)
	z.close() // not after a panic: the client must not take a truncated response for a complete one
}

// acceptsGzip reports whether an Accept-Encoding header names gzip or * with a weight above zero.
func acceptsGzip(header []string) bool {
	other := false
	for item := range strings.SplitSeq(strings.Join(header, ","), ",") {
		coding, params, _ := strings.Cut(item, ";")
		accepted := true
		if name, value, ok := strings.Cut(params, "="); ok && strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			accepted = err == nil && q > 0
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip":
			return accepted
		case "*":
			other = accepted
		}
	}
	return other
}

// gzipWriters are free writers of gzip streams, which are large.
var gzipWriters = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return z
}}

// gzipResponse compresses a response if its headers allow it and its body is long enough. It decides that when
// compressedFrom bytes have been written or the response is flushed. If the header is flushed before the first byte of
// the body, the response is not compressed. Used by one goroutine.
type gzipResponse struct {
	http.ResponseWriter
	status int    // 0 until the handler sets it
	held   []byte // the start of the body, until the decision
	plain  bool
	gzip   *gzip.Writer
}

func (z *gzipResponse) WriteHeader(status int) {
	switch {
	case status < http.StatusOK && status != http.StatusSwitchingProtocols:
		z.ResponseWriter.WriteHeader(status)
	case z.status == 0:
		z.status = status
		if !compressible(z.Header(), status) {
			z.plain = true
			z.ResponseWriter.WriteHeader(status)
		}
	}
}

func (z *gzipResponse) Write(b []byte) (int, error) {
	z.WriteHeader(http.StatusOK)
	switch {
	case z.plain:
		return z.ResponseWriter.Write(b)
	case z.gzip != nil:
		return z.gzip.Write(b)
	case len(z.held)+len(b) < compressedFrom:
		z.held = append(z.held, b...)
		return len(b), nil
	}
	if err := z.compress(); err != nil {
		return 0, err
	}
	return z.gzip.Write(b)
}

// compress sends the header and starts the gzip stream with the bytes held so far.
func (z *gzipResponse) compress() error {
	z.Header().Set("Content-Encoding", "gzip")
	z.Header().Del("Content-Length")
	z.ResponseWriter.WriteHeader(z.status)
	z.gzip = gzipWriters.Get().(*gzip.Writer)
	z.gzip.Reset(z.ResponseWriter)
	_, err := z.gzip.Write(z.held)
	z.held = nil
	return err
}

// Flush implements http.Flusher.
func (z *gzipResponse) Flush() { _ = z.FlushError() }

// FlushError is called by http.ResponseController.
func (z *gzipResponse) FlushError() error {
	z.WriteHeader(http.StatusOK)
	if !z.plain && z.gzip == nil {
		if len(z.held) == 0 {
			z.plain = true
			z.ResponseWriter.WriteHeader(z.status)
		} else if err := z.compress(); err != nil {
			return err
		}
	}
	if z.gzip != nil {
		if err := z.gzip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(z.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to the connection's deadlines.
func (z *gzipResponse) Unwrap() http.ResponseWriter { return z.ResponseWriter }

// close ends the response. A write error is not reported: the connection is broken and the handler has returned.
func (z *gzipResponse) close() {
	switch {
	case z.gzip != nil:
		_ = z.gzip.Close()
		gzipWriters.Put(z.gzip)
	case z.status != 0 && !z.plain: // shorter than compressedFrom
		z.ResponseWriter.WriteHeader(z.status)
		_, _ = z.ResponseWriter.Write(z.held)
	}
}

// compressible reports whether a response with this header may be compressed. Files are sent as they are. A face that
// must know whether the whole response was sent marks it no-transform (RFC 9111 section 5.2.2.6), because the end of a
// compressed response is written after the handler has returned.
func compressible(h http.Header, status int) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return (kind == "application/json" || kind == "text/html") && status >= http.StatusOK && status != http.StatusNoContent &&
		status != http.StatusNotModified && status != http.StatusPartialContent && h.Get("Content-Encoding") == "" &&
		h.Get("Content-Disposition") == "" && !strings.Contains(h.Get("Cache-Control"), "no-transform")
}

package adapter

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// ServeFile responds with the bytes of a file, or with one range of them (RFC 9110 section 14), and with the headers
// that were already set, including Content-Type. The ETag is sum. A request for several ranges gets the whole file,
// because each of many small ranges would require reading a chunk.
//
// If it returns an error of class OutOfRange, nothing was sent. After any other error, the response was sent with fewer
// bytes than its Content-Length.
func ServeFile(w http.ResponseWriter, r *http.Request, sum string, file io.ReadSeeker) error {
	w.Header().Set("ETag", `"`+sum+`"`)
	if asked := r.Header.Get("Range"); r.Method != http.MethodGet || !strings.HasPrefix(asked, "bytes=") || strings.Contains(asked, ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	to, from := &fileAnswer{ResponseWriter: w}, &fileBytes{ReadSeeker: file}
	http.ServeContent(to, r, "", time.Time{}, from) // no time: a resolution of one second cannot distinguish versions
	if to.refused {
		w.Header().Del("Content-Disposition")
		return mapping.Errorf(mapping.OutOfRange, mapping.CodeInvalid, "The file has no bytes in this range. Content-Range has its size.")
	}
	return errors.Join(from.err, to.err)
}

// fileAnswer records the error of a write and suppresses refusals, whose text the caller writes. It hides the
// ReaderFrom of its writer, which would copy the whole file as one write.
type fileAnswer struct {
	http.ResponseWriter
	refused bool
	err     error
}

func (a *fileAnswer) WriteHeader(status int) {
	if a.refused = status == http.StatusRequestedRangeNotSatisfiable; !a.refused {
		a.ResponseWriter.WriteHeader(status)
	}
}

func (a *fileAnswer) Write(p []byte) (n int, err error) {
	if a.refused {
		return len(p), nil
	}
	n, a.err = a.ResponseWriter.Write(p)
	return n, a.err
}

// fileBytes records the error of a read.
type fileBytes struct {
	io.ReadSeeker
	err error
}

func (b *fileBytes) Read(p []byte) (n int, err error) {
	if n, err = b.ReadSeeker.Read(p); err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

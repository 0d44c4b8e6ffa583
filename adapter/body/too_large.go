package body

import (
	"errors"
	"io"
	"net/http"

	"github.com/apbridge/apbridge/mapping"
)

// TooLarge returns the error for a body that exceeds limits.body.
func TooLarge(limit int64) *mapping.Error {
	return mapping.Errorf(mapping.TooLarge, "body_too_large", "The request body is longer than %d bytes, the limit of limits.body.", limit)
}

// UploadTooLarge returns the error for a form whose file exceeds limits.artifact, or that is too long for any file.
func UploadTooLarge(limit int64) *mapping.Error {
	return mapping.Errorf(mapping.TooLarge, "artifact_too_large", "The upload is larger than %d bytes, the limit of limits.artifact.", limit)
}

// Bounded returns the body of a request. Reading it fails with the problem if it is longer than limit. A body whose
// announced length is within the limit needs no check, because net/http ends it there.
func Bounded(w http.ResponseWriter, r *http.Request, limit int64, problem func() *mapping.Error) io.ReadCloser {
	if r.ContentLength >= 0 && r.ContentLength <= limit {
		return r.Body
	}
	return bounded{http.MaxBytesReader(w, r.Body, limit), problem}
}

type bounded struct {
	io.ReadCloser
	problem func() *mapping.Error
}

func (b bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		err = b.problem()
	}
	return n, err
}

// Unread returns the error for a body that could not be read. It returns a *mapping.Error in err, such as too large or
// too slow, unchanged. Any other error means that the request broke off.
func Unread(err error) *mapping.Error {
	if known, ok := errors.AsType[*mapping.Error](err); ok {
		return known
	}
	return &mapping.Error{Class: mapping.Malformed, Code: mapping.CodeInvalid, Message: "The request body could not be read to its end.", Err: err}
}

package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// fetch streams one file into the thread. It returns a nil artifact if the file was skipped or is unchanged.
func (d *downloads) fetch(w wanted) (*mapping.Artifact, []byte, error) {
	if w.compare {
		same, err := d.same(w)
		if err != nil || same {
			return nil, nil, d.tolerate(w, err)
		}
	}
	var saved mapping.Artifact
	var inline *keep
	err := d.download(w, func(body io.Reader) (err error) {
		inline = &keep{limit: int(d.up.Config.Artifacts.MaxInline)}
		saved, err = d.assigned.Files.Save(d.ctx, w.at, w.ID, "", io.TeeReader(body, inline))
		return err
	})
	if err != nil {
		return nil, nil, d.tolerate(w, err)
	}
	d.files.noteCurrent(w)
	return &saved, inline.content(), nil
}

// same reports whether the thread has the agent's bytes. It reads them without storing them.
func (d *downloads) same(w wanted) (bool, error) {
	sum := sha256.New()
	err := d.download(w, func(body io.Reader) error {
		sum.Reset()
		_, err := io.Copy(sum, body)
		return err
	})
	if err != nil || hex.EncodeToString(sum.Sum(nil)) != d.files.sums[w.at] {
		return false, err
	}
	d.files.noteCurrent(w)
	return true, nil
}

// download passes the file's bytes to take. If the connection breaks, it starts again from the first byte, because a
// GET changes nothing. A lostError concerns only this file; any other error ends the run.
func (d *downloads) download(w wanted, take func(io.Reader) error) error {
	err := d.downloadOnce(w, take)
	if lost := (*lostError)(nil); errors.As(err, &lost) && lost.again {
		err = d.downloadOnce(w, take)
	}
	return err
}

func (d *downloads) downloadOnce(w wanted, take func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(d.ctx, d.stepTimeout())
	defer cancel()
	body, err := d.content(ctx, w)
	if err != nil {
		return d.lostFile(ctx, err, false)
	}
	defer body.Close()
	src := &source{Reader: body, left: d.artifactLimit()}
	err = take(src)
	switch {
	case src.err != nil: // regardless of the result of take
		return d.lostFile(ctx, src.err, src.err != errTooLarge)
	case err != nil && passable(err):
		return d.lostFile(ctx, err, false)
	case err != nil && d.ctx.Err() != nil:
		return stopReason(d.ctx)
	}
	return err
}

func (d *downloads) content(ctx context.Context, w wanted) (io.ReadCloser, error) {
	if w.Content != nil {
		return io.NopCloser(strings.NewReader(*w.Content)), nil
	}
	refusal, body, err := d.open(ctx, d.taskPath("/artifacts/"+pathEscape(w.ID)))
	if err == nil && body == nil {
		err = d.refused(refusal)
	}
	return body, err
}

// passable reports whether err concerns only this file and is not a failure of the store.
func passable(err error) bool {
	c := mapping.Classify(err).Class
	return c == mapping.Invalid || c == mapping.TooLarge
}

func (d *downloads) artifactLimit() int64 {
	if n := int64(d.up.Limits.Artifact); n > 0 {
		return n
	}
	return 1 << 30
}

// lostError is the reason why one file of the agent cannot be downloaded.
type lostError struct {
	reason string // for the client
	cause  error  // for the log
	again  bool   // another attempt may succeed
}

func (e *lostError) Error() string { return e.reason + " (" + e.cause.Error() + ")" }
func (e *lostError) Unwrap() error { return e.cause }

// lostFile returns the reason why a file could not be downloaded. ctx is the context that bounded the attempt.
func (d *downloads) lostFile(ctx context.Context, err error, broke bool) error {
	var known *mapping.Error
	lost := &lostError{cause: err, again: broke && ctx.Err() == nil}
	switch {
	case d.ctx.Err() != nil:
		return stopReason(d.ctx)
	case errors.Is(err, errTooLarge):
		lost.reason = fmt.Sprintf("The file is larger than %d bytes (limits.artifact).", d.artifactLimit())
	case ctx.Err() != nil:
		lost.reason = d.slow().Message
	case broke:
		lost.reason = "The download broke off before the end of the file."
	case errors.As(err, &known):
		lost.reason = known.Message
	default:
		lost.reason = "The file cannot be used."
	}
	return lost
}

// tolerate records a file that cannot be downloaded and lets the run continue. It returns other errors unchanged.
func (d *downloads) tolerate(w wanted, err error) error {
	var lost *lostError
	if !errors.As(err, &lost) {
		return err
	}
	reason := lost.reason
	if _, there := d.files.sums[w.at]; there {
		reason += " The thread keeps its previous bytes."
	}
	d.skip(mapping.SkippedFile{Path: w.at, Remote: w.ID, Reason: reason}, err)
	return nil
}

// skip reports a file to the client, with the step, and to the operator, in the log.
func (d *downloads) skip(f mapping.SkippedFile, cause error) {
	f.Reason = d.excerpt(f.Reason, errorText*2)
	d.files.miss(f)
	d.log.Warn("agent file skipped", zap.String("run", d.assigned.Run.ID),
		zap.String("file", d.excerpt(f.Path, 120)), zap.String("reason", d.excerpt(cause.Error(), errorText)))
}

// source is a download that records how it broke, and fails at the limit.
type source struct {
	io.Reader
	left int64
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.left -= int64(n); s.left < 0 {
		err = errTooLarge
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// keep buffers a file that is small enough for the state.
type keep struct {
	limit int
	buf   []byte
	over  bool
}

func (k *keep) Write(p []byte) (int, error) {
	if k.over || len(k.buf)+len(p) > k.limit {
		k.over, k.buf = true, nil
	} else {
		k.buf = append(k.buf, p...)
	}
	return len(p), nil
}

// content returns nil if the file was too large.
func (k *keep) content() []byte {
	if k.over {
		return nil
	}
	return append([]byte{}, k.buf...)
}

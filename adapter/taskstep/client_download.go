package taskstep

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

// fetch streams one file into the thread. A nil artifact was skipped.
func (d *drive) fetch(w wanted) (*mapping.Artifact, []byte, error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.stepTimeout())
	defer cancel()
	body, err := d.content(ctx, w)
	if err == nil {
		defer body.Close()
		return d.save(w, body)
	}
	if d.ctx.Err() != nil {
		return nil, nil, ended(d.ctx)
	}
	d.skipped(w.at, err)
	return nil, nil, nil
}

func (d *drive) content(ctx context.Context, w wanted) (io.ReadCloser, error) {
	if w.Content != nil {
		return io.NopCloser(strings.NewReader(*w.Content)), nil
	}
	refusal, body, err := d.open(ctx, d.taskPath("/artifacts/"+pathEscape(w.ID)))
	if err == nil && body == nil {
		err = d.refused(refusal)
	}
	return body, err
}

// save tells a download that broke or was too large, which is noted, from a
// thread that could not keep the file, which ends the run.
func (d *drive) save(w wanted, body io.Reader) (*mapping.Artifact, []byte, error) {
	src := &source{Reader: body, left: d.artifactLimit()}
	inline := &keep{limit: int(d.up.Config.Artifacts.MaxInline)}
	saved, err := d.task.Files.Save(d.ctx, w.at, w.ID, io.TeeReader(src, inline))
	switch {
	case err == nil:
		d.files.mark(w)
		return &saved, inline.content(), nil
	case d.ctx.Err() != nil:
		return nil, nil, ended(d.ctx)
	case src.err != nil, passable(err):
		d.skipped(w.at, errors.Join(src.err, err))
		return nil, nil, nil
	}
	return nil, nil, err
}

func (tr *tracker) mark(w wanted) {
	if tr.got == nil {
		tr.got = map[string]bool{}
	}
	if w.ID != "" {
		tr.got[w.version()] = true
	}
}

// passable tells an objection to this one file from a failing store.
func passable(err error) bool {
	c := mapping.Classify(err).Class
	return c == mapping.Invalid || c == mapping.TooLarge
}

func (d *drive) artifactLimit() int64 {
	if n := int64(d.up.Limits.Artifact); n > 0 {
		return n
	}
	return 1 << 30
}

// source is a download that remembers how it broke, and breaks at the limit.
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

// keep holds a file that is small enough for the state.
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

// content is nil when the file was too large.
func (k *keep) content() []byte {
	if k.over {
		return nil
	}
	return append([]byte{}, k.buf...)
}

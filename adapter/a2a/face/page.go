package face

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"go.uber.org/zap"
)

// pageWriter writes a page of tasks one at a time, because a task may have megabytes of files. The first bytes are sent when
// more than pagePiece have been collected. Until then, an error can still be the response.
type pageWriter struct {
	c     *call
	raw   []byte
	tasks int
	began bool
	gone  error // of writing to a client that has disconnected
}

const pagePiece = 64 << 10

var taskList = []byte(`"tasks":[`)

// edges returns the parts of a page before and after its tasks.
func (p *pageWriter) edges(list wire.ListTasksResponse) (before, after []byte, err error) {
	list.Tasks = []wire.Task{}
	raw, err := p.c.encode(list)
	if err != nil {
		return nil, nil, err
	}
	at := bytes.Index(raw, taskList) + len(taskList) // a quoted id of a call cannot have it
	return raw[:at], raw[at:], nil
}

// add adds a task.
func (p *pageWriter) add(t *wire.Task) error {
	var err error
	if p.tasks++; p.tasks > 1 {
		p.raw = append(p.raw, ',')
	} else if p.raw, _, err = p.edges(wire.ListTasksResponse{}); err != nil {
		return err
	}
	if p.raw, err = wire.Append(p.raw, p.c.version, t); err == nil && len(p.raw) > pagePiece {
		if !p.began {
			p.began = true
			p.c.w.Header().Set("Content-Type", p.c.contentType())
		}
		_, p.gone = p.c.w.Write(p.raw)
		p.raw, err = p.raw[:0], p.gone
	}
	return err
}

// end writes the rest of the page. list has its other members.
func (p *pageWriter) end(list wire.ListTasksResponse) error {
	before, after, err := p.edges(list)
	if err != nil {
		return err
	}
	if p.tasks == 0 {
		p.raw = before
	}
	p.raw = append(p.raw, after...)
	if !p.began {
		h := p.c.w.Header()
		h.Set("Content-Type", p.c.contentType())
		h.Set("Content-Length", strconv.Itoa(len(p.raw)))
	}
	_, p.gone = p.c.w.Write(p.raw)
	return nil
}

// breakOff returns err if the response has not begun. Otherwise it closes the connection, so that the client does not
// mistake the part that was sent for the whole.
func (s *server) breakOff(p *pageWriter, err error) error {
	if !p.began {
		return err
	}
	if p.gone == nil && p.c.r.Context().Err() == nil {
		s.log.Error("response interrupted", zap.String("method", string(p.c.method)), zap.Error(err))
	}
	panic(http.ErrAbortHandler)
}

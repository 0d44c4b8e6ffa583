package face

import (
	"encoding/json"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/sse"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"go.uber.org/zap"
)

// ownerOf reads the principal whose data is requested. An empty tenant is a valid value, because keys may have no
// tenant.
func ownerOf(q *request.Query) adapter.OwnerRef {
	who := adapter.OwnerRef{ID: q.Text("owner")}
	if who.ID == "" {
		q.Refuse("owner", "is required: the id of a key, or ISSUER:SUBJECT of a token")
	}
	if q.Has("tenant") {
		tenant := q.Text("tenant")
		who.Tenant = &tenant
	}
	return who
}

func (s *server) getData(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	who := ownerOf(q)
	if err := q.Err(); err != nil {
		return err
	}
	held, err := s.svc.HeldBy(r.Context(), who)
	if err != nil {
		return err
	}
	return replyJSON(w, held)
}

// exportData sends an archive. An error after the first byte closes the connection.
func (s *server) exportData(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	who := ownerOf(q)
	if err := q.Err(); err != nil {
		return err
	}
	to := &begun{w: w, kind: "application/x-tar"}
	w.Header().Set("Content-Disposition", `attachment; filename="data.tar"`)
	err := s.svc.ExportOwner(r.Context(), who, to)
	switch {
	case err == nil:
		return nil
	case !to.yet:
		w.Header().Del("Content-Disposition")
		return err
	case r.Context().Err() == nil:
		s.log.Error("export interrupted", zap.Error(err))
	}
	panic(http.ErrAbortHandler)
}

// begun is a writer that sets the headers before the first byte and records that the response has begun.
type begun struct {
	w    http.ResponseWriter
	kind string
	yet  bool
}

func (b *begun) Write(p []byte) (int, error) {
	if !b.yet {
		b.yet = true
		b.w.Header().Set("Content-Type", b.kind)
		b.w.WriteHeader(http.StatusOK)
	}
	return b.w.Write(p)
}

// deleteData deletes a principal's data and reports each deleted object as a line of JSON. The last line has "end". An
// error after the first line is reported as a line without "end". The deletion stops if the client disconnects.
func (s *server) deleteData(w http.ResponseWriter, r *http.Request) error {
	q := request.QueryOf(r)
	who, how := ownerOf(q), adapter.Removing{LeaveCopies: q.Flag("leave_copies"), KeepFile: q.Flag("keep_file")}
	if err := q.Err(); err != nil {
		return err
	}
	to, flush := &begun{w: w, kind: "application/x-ndjson"}, http.NewResponseController(w)
	line := func(v any) error {
		body, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if !to.yet {
			sse.SetUnbuffered(w.Header())
		}
		if _, err := to.Write(append(body, '\n')); err != nil {
			return err
		}
		return flush.Flush()
	}
	err := s.svc.RemoveOwner(r.Context(), who, how, func(one adapter.Removed) error { return line(one) })
	switch {
	case err == nil:
		return line(map[string]bool{"end": true})
	case !to.yet:
		return err
	}
	e := mapping.Classify(err)
	s.log.Error("deletion of owner data interrupted", zap.Error(err))
	_ = line(adapter.Removed{Outcome: adapter.IsFailed, Kind: "removal", Why: e.Message}) // the client may be gone
	return nil
}

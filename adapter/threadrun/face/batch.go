package face

import (
	"fmt"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// createRuns starts several stateless runs. A mistake in one starts none.
func (s *server) createRuns(w http.ResponseWriter, r *http.Request) error {
	raw, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	batch, err := s.readBatch(raw, r.Header)
	if err != nil {
		return err
	}
	list := make([]adapter.RunRequest, len(batch))
	for i, q := range batch {
		list[i] = *q.take()
	}
	started, err := s.svc.StartRuns(r.Context(), list)
	if err != nil {
		return err
	}
	runs := make([]mapping.Run, len(started))
	for i, st := range started {
		runs[i] = asCreated(st.Run)
	}
	return s.replyRuns(w, r, adapter.List(runs), false, nil)
}

const maxBatch = 1000

func (s *server) readBatch(raw []byte, h http.Header) ([]*runRequest, error) {
	// The list is read as a member of an object, so that one parser checks it.
	wrapped := new(rawjson.Writer).Open('{')
	if raw != nil {
		wrapped.Key("batch").Raw(raw, "null")
	}
	depth := s.face.Limits.MaxJSONDepth
	if depth > 0 {
		depth++
	}
	o, err := request.Parse(wrapped.Close('}').Bytes, depth)
	if err != nil {
		return nil, err
	}
	list := rawjson.ElementsOf(o.List("batch"))
	if err := o.Err(); err != nil {
		return nil, err
	}
	if len(list) == 0 || len(list) > maxBatch || len(o.Members()) != 1 {
		return nil, mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, "The request body must be a list of 1 to %d runs.", maxBatch)
	}
	// Of members that mean nothing is not told here: createBatch of LangGraph's JavaScript SDK sends its arguments as
	// they are (streamMode), beside the assistant_id that it makes of one.
	var batch []*runRequest
	for i, one := range list {
		if run := o.Element("batch", i, one); run != nil {
			q := readRunBody(run, "")
			q.Retries, q.RetriesSaid = retriesOf(run, h)
			q.IdempotencyKey, q.Batch = h.Get(adapter.IdempotencyKeyHeader), fmt.Sprintf("%d/%d", i, len(list))
			batch = append(batch, q)
		}
	}
	return batch, o.Err()
}

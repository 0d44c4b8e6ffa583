package face

import (
	"encoding/json"
	"testing"

	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
)

// FuzzRunRequest checks that no body causes a panic, and that accepted bodies and the parts repeated by a run are JSON.
func FuzzRunRequest(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"assistant_id":"a","input":{"messages":[["user","x"]]}}`, `{"checkpoint":{"checkpoint_id":null}}`,
		`{"command":{"resume":[1,{"a":2}]},"stream_mode":["values",""]}`, `{"config":{"recursion_limit":1e9}}`, `{"a":1,"a":2}`,
		`{"interrupt_before":["*",1]}`, `{"ttl":{"ttl":1e400}}`, "{\"input\":\"\\ud800\"}", `[1]`, `{"input":` + "\xff" + `}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := request.Parse(body, 20)
		if err != nil {
			return
		}
		if body != nil && !json.Valid(body) {
			t.Fatalf("accepted %q", body)
		}
		q := readRunBody(o, "")
		superstepsOf(o)
		ttlOf(o)
		beforeOf(o)
		if !json.Valid(q.Kwargs) {
			t.Fatalf("kwargs %q", q.Kwargs)
		}
		if o.Err() == nil && q.HasInput != (q.Input != nil || q.Messages != nil) {
			t.Fatal("the input differs from the body")
		}
	})
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte(`[{"assistant_id":"a"}]`))
	f.Add([]byte(`[]},{"x":[]`))
	f.Add([]byte(`[{}],"x":1`))
	f.Fuzz(func(t *testing.T, body []byte) {
		batch, err := (&server{}).readBatch(body, nil)
		if err == nil && (!json.Valid(body) || len(batch) == 0) {
			t.Fatalf("accepted %q as %d runs", body, len(batch))
		}
	})
}

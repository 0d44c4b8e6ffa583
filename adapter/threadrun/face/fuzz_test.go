package face

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

func TestParseCursor(t *testing.T) {
	t.Parallel()
	start := adapter.Cursor{K: -1, Start: true}
	for in, want := range map[string]*adapter.Cursor{
		"": &start, "-1": &start, " -1 ": &start,
		"7": {Seq: 7, K: -1}, "7.0": {Seq: 7}, "7.12": {Seq: 7, K: 12},
		"0": nil, "0.1": nil, "-2": nil, "+7": nil, "07": nil, "7.": nil, ".7": nil, "7.-1": nil, "7.01": nil, "7.1.1": nil, "7,1": nil,
		"7.4096": nil, "9223372036854775808": nil, "1e3": nil, "abc": nil, "７": nil,
	} {
		got, err := parseCursor(in)
		if want == nil {
			if e := mapping.Classify(err); err == nil || e.Code != "bad_cursor" || adapter.Status(e.Class) != 400 {
				t.Errorf("%q: %+v, %v", in, got, err)
			}
		} else if err != nil || got != *want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "-1", "1", "12.3", "x", "1.", "00.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s)
		if err != nil || c.Start {
			return
		}
		back := strconv.FormatInt(c.Seq, 10)
		if c.K >= 0 {
			back += "." + strconv.Itoa(c.K)
		}
		if again, err := parseCursor(back); err != nil || again != c || c.Seq < 1 || c.K < -1 || c.K >= maxFrames {
			t.Fatalf("%q is %+v, %q is %+v (%v)", s, c, back, again, err)
		}
	})
}

// FuzzRunRequest checks that no body panics, that what is accepted is JSON,
// and that what a run repeats of it is JSON too.
func FuzzRunRequest(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"assistant_id":"a","input":{"messages":[["user","x"]]}}`, `{"checkpoint":{"checkpoint_id":null}}`,
		`{"command":{"resume":[1,{"a":2}]},"stream_mode":["values",""]}`, `{"config":{"recursion_limit":1e9}}`, `{"a":1,"a":2}`,
		`{"interrupt_before":["*",1]}`, `{"ttl":{"ttl":1e400}}`, "{\"input\":\"\\ud800\"}", `[1]`, `{"input":` + "\xff" + `}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := parseObject(body, 20)
		if err != nil {
			return
		}
		if body != nil && !json.Valid(body) {
			t.Fatalf("accepted %q", body)
		}
		q := o.runRequest("")
		o.supersteps()
		o.ttl()
		o.before()
		if !json.Valid(q.Kwargs) {
			t.Fatalf("kwargs %q", q.Kwargs)
		}
		if o.err() == nil && q.HasInput != (q.Input != nil || q.Messages != nil) {
			t.Fatal("input is not as told")
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

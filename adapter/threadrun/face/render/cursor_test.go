package render

import (
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
		"7.1073741824": nil, "9223372036854775808": nil, "1e3": nil, "abc": nil, "７": nil,
	} {
		got, err := ParseCursor(in)
		if want == nil {
			if e := mapping.Classify(err); err == nil || e.Code != "invalid_cursor" || adapter.Status(e.Class) != 400 {
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
		c, err := ParseCursor(s)
		if err != nil || c.Start {
			return
		}
		back := strconv.FormatInt(c.Seq, 10)
		if c.K >= 0 {
			back += "." + strconv.Itoa(c.K)
		}
		if again, err := ParseCursor(back); err != nil || again != c || c.Seq < 1 || c.K < -1 || c.K >= maxFrames {
			t.Fatalf("%q is %+v, %q is %+v (%v)", s, c, back, again, err)
		}
	})
}

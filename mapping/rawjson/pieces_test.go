package rawjson_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestPiecesReadLikeJoin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é\"\U0010ffff\n", 5_000)
	var tail, p rawjson.Pieces
	tail.Literal(`,"c":`).Text("").Literal("}")
	p.Literal(`{"a":`).Text(long).Literal(`,"b":`).Raw([]byte(`[1]`)).Pieces(tail)
	joined := p.Join()
	var got struct {
		A string
		B []int
		C *string
	}
	if err := json.Unmarshal(joined, &got); err != nil || got.A != long || len(got.B) != 1 || got.C == nil {
		t.Fatalf("%v of %d bytes", err, len(joined))
	}
	if p.Len() != int64(len(joined)) {
		t.Errorf("has %d bytes, says %d", len(joined), p.Len())
	}
	if err := iotest.TestReader(p.Reader(), joined); err != nil {
		t.Error(err)
	}
	if again, err := io.ReadAll(p.Reader()); err != nil || string(again) != string(joined) {
		t.Errorf("the second reader reads %d bytes, %v", len(again), err)
	}
}

func FuzzPiecesOfAText(f *testing.F) {
	f.Add("", 0)
	f.Add("\xff\xc3", 4095)
	f.Add("é\u2028", 4094)
	f.Add("é\x80\x80\x80\x80", 4091)
	f.Add("\U0010ffff\x80\x80\x80", 4090)
	f.Fuzz(func(t *testing.T, s string, before int) {
		s = strings.Repeat("x", max(0, min(before, 10_000))) + s
		var p rawjson.Pieces
		p.Text(s)
		got, err := io.ReadAll(p.Reader())
		if err != nil || string(got) != string(rawjson.Quote(s)) || int64(len(got)) != p.Len() {
			t.Errorf("reads %q of length %d, %v", got, p.Len(), err)
		}
	})
}

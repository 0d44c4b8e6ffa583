package rawjson_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	var w rawjson.Writer
	w.Open('{').Key("a").Text("x\x01\"").Name("b\n").Int(-1).Spliced([]byte(`"\u00e9"`)).Bool(true)
	w.Key("c").Open('[').Raw(json.RawMessage(`{"d":1}`), "null").Raw(nil, "null").Open('{').Close('}').Literal("2").Close(']')
	w.Key("e").Texts([]string{"f", "g"}).Key("h").Array(nil).Close('}')
	const want = `{"a":"x\u0001\"","b\n":-1,"\u00e9":true,"c":[{"d":1},null,{},2],"e":["f","g"],"h":[]}`
	if diff := cmp.Diff(want, string(w.Bytes)); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

func TestWriterOfValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 4, 4, 5, 6e6, time.FixedZone("", 3600))
	w := new(rawjson.Writer).Open('[').Time(at, time.RFC3339).Time(time.Time{}, time.RFC3339).OrNull("").OrNull("a").Encode("<é>").Encode(1.5)
	w.Object([]rawjson.Member{{Name: "b\n", Value: json.RawMessage("1")}, {Name: "c", Quoted: rawjson.Quoted(`"\u0063"`)}}).Separate()
	w.Separate()
	const want = `["2026-01-02T03:04:05Z",null,null,"a","<é>",1.5,{"b\n":1,"\u0063":null},7]`
	if diff := cmp.Diff(want, string(w.Int(7).Close(']').Bytes)); diff != "" || w.Err != nil {
		t.Errorf("%v (-want +got)\n%s", w.Err, diff)
	}
	if w.Encode(make(chan int)).Encode(1); w.Err == nil {
		t.Error("a channel was written")
	}
}

func TestWriterPassesLongValuesOn(t *testing.T) {
	t.Parallel()
	var sent []byte
	w := rawjson.Writer{LongFrom: 3}
	w.Long = func(v []byte) {
		sent, w.Bytes = append(append(sent, w.Bytes...), v[:len(v)-1]...), append(w.Bytes[:0], v[len(v)-1])
	}
	w.Open('[').Raw(json.RawMessage(`123`), "").Raw(json.RawMessage(`1234`), "").Raw(json.RawMessage(`5`), "").Close(']')
	if got := string(append(sent, w.Bytes...)); got != `[123,1234,5]` {
		t.Errorf("wrote %s", got)
	}
}

// FuzzQuote checks that strings survive a round trip, also through encoding/json.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "\x00\x01\x1f\x7f", "é\u2028\U0010ffff", `"\`, "<&>", "\xff", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := rawjson.Quote(s)
		var want string
		if err := json.Unmarshal(quoted, &want); err != nil {
			t.Fatalf("Quote(%q) = %q: %v", s, quoted, err)
		}
		if got := rawjson.Unquote(quoted); got != want {
			t.Errorf("Unquote(%q) = %q, encoding/json says %q", quoted, got, want)
		}
		theirs, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := rawjson.Unquote(theirs); got != want {
			t.Errorf("Unquote(%q) = %q, want %q", theirs, got, want)
		}
	})
}

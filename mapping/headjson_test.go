package mapping

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestHeadsAreWrittenLikeEncodingJSON checks that a head with any members reads back as if encoding/json had written
// it. Members are found by reflection, so the test fails for a new member that is not written.
func TestHeadsAreWrittenLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var h Head
		fillAtRandom(r, reflect.ValueOf(&h).Elem())
		got, err := h.AppendJSON(nil)
		if err != nil {
			r.Fatal(err)
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(&h); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, want.Bytes()), decoded(t, got)); diff != "" {
			r.Fatalf("%s\n(-encoding/json +ours):\n%s", got, diff)
		}
	})
}

// A step's output has the same bytes in the log as in the agent's response.
func TestHeadsKeepTheBytesOfRawValues(t *testing.T) {
	t.Parallel()
	raw := `{"a": [1.0,  "\u00e9<b>"]}`
	h := Head{Step: &StepInfo{Output: json.RawMessage(raw), Additional: json.RawMessage(raw)}}
	got, err := h.AppendJSON(nil)
	if want := `{"step":{"output":` + raw + `,"additional":` + raw + `}}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

func decoded(t *testing.T, b []byte) (h Head) {
	t.Helper()
	if err := json.Unmarshal(b, &h); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return h
}

func fillAtRandom(r *rapid.T, v reflect.Value) {
	if !rapid.Bool().Draw(r, "there") && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("json") != "-" && f.IsExported() {
				fillAtRandom(r, v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAtRandom(r, v.Elem())
	case reflect.Slice:
		fillSlice(r, v)
	case reflect.String:
		v.SetString(rapid.String().Draw(r, "text"))
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(int64(rapid.IntRange(-9, 9).Draw(r, "number")))
	}
}

func fillSlice(r *rapid.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes(rapid.SampledFrom([][]byte{[]byte(`null`), []byte(`{"a":[1,"<b>"]}`), []byte(`"x"`)}).Draw(r, "raw"))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(r, "length"), 2))
	for i := range v.Len() {
		fillAtRandom(r, v.Index(i))
	}
}

package store

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestHeadsAreWrittenAsAnyJSON checks that a head with any members reads back like one that encoding/json wrote.
func TestHeadsAreWrittenAsAnyJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var h mapping.Head
		fillAtRandom(r, reflect.ValueOf(&h).Elem())
		ours, err := encodeHead(&h)
		if err != nil {
			r.Fatal(err)
		}
		theirs, err := encode(&h)
		if err != nil {
			r.Fatal(err)
		}
		var got, want mapping.Head
		if err := errors.Join(decode(ours, &got), decode(theirs, &want)); err != nil {
			r.Fatalf("%s: %v", ours, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("%s\n(-encoding/json +ours):\n%s", ours, diff)
		}
	})
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

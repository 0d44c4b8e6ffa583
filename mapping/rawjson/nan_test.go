package rawjson_test

import (
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestNaNBecomesNull(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`NaN`:       `null`,
		`-Infinity`: `null`,
		`{"a": NaN, "b":[1,Infinity,-Infinity],"c":"NaN \" -Infinity","NaN":{"d":NaN}}`: `{"a": null, "b":[1,null,null],"c":"NaN \" -Infinity","NaN":{"d":null}}`,
		`{"a":"NaN"}`:       "",
		`{"a":1}`:           "",
		`{"a":NaN`:          "",
		`{"a":NaN,"b":"`:    "",
		`{"a":-NaN}`:        "",
		`{"a":aNaN}`:        "",
		`{"a":Infinity2}`:   "",
		`{NaN:1}`:           "",
		`{"a":NaN}{"b":1}`:  "",
		`<html>NaN</html>`:  "",
		`{"a":--Infinity}`:  "",
		"":                  "",
		`{"a":1e5,"b":NaN}`: `{"a":1e5,"b":null}`,
	} {
		got, ok := rawjson.WithoutNaN([]byte(text))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s, %t, want %s", text, got, ok, want)
		}
	}
}

package rawjson_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestRepeatedName(t *testing.T) {
	t.Parallel()
	many := func(more string) string {
		var b strings.Builder
		for i := range 100 {
			b.WriteString(`"k` + strconv.Itoa(i) + `":{"a":1},`)
		}
		return `{` + b.String() + more + `}`
	}
	for text, second := range map[string]string{
		`{}`: "", `[]`: "", `5`: "", `{"a":1,"b":{"a":[{"a":1},{"a":1}]}}`: "",
		`{"a":1,"a":2}`:                 `"a":2`,
		`{"b":[{"a":1},{"a":1,"a":3}]}`: `"a":3`,
		`{"a":1,"\u0061":2}`:            `"\u0061"`,
		`{"é":1,"\u00e9":2}`:            `"\u00e9"`,
		many(`"x":1`):                   "",
		many(`"k7":1`):                  `"k7":1`,
		many(`"\u006b7":1`):             `"\u006b7":1`,
		many(`"x":{"b":1,"b":2}`):       `"b":2`,
	} {
		at, found := rawjson.RepeatedName([]byte(text))
		if found != (second != "") || found && at != strings.LastIndex(text, second) {
			t.Errorf("RepeatedName(%.60s) = %d, %t, want that of %s", text, at, found, second)
		}
	}
}

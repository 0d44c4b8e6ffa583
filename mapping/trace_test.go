package mapping

import (
	"strings"
	"testing"
)

func TestReadTrace(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct {
		parent, state string
		want          Trace
	}{
		"nothing":                  {"", "", Trace{}},
		"a parent":                 {good, "", Trace{Parent: good}},
		"with its state":           {good, "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", Trace{Parent: good, State: "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"}},
		"a state alone":            {"", "congo=1", Trace{}},
		"a later version":          {"01" + good[2:] + "-more", "", Trace{Parent: "01" + good[2:] + "-more"}},
		"more than a version has":  {good + "-more", "", Trace{}},
		"a version that is none":   {"ff" + good[2:], "", Trace{}},
		"large letters":            {strings.ToUpper(good), "", Trace{}},
		"no trace":                 {"00-00000000000000000000000000000000-b7ad6b7169203331-01", "", Trace{}},
		"no span":                  {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "", Trace{}},
		"cut short":                {good[:50], "", Trace{}},
		"another line":             {good + "\r\nx: y", "", Trace{}},
		"a state with other signs": {good, "a=\x01", Trace{Parent: good}},
		"a state that is too long": {good, strings.Repeat("x", 1025), Trace{Parent: good}},
	} {
		if got := ReadTrace(c.parent, c.state); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

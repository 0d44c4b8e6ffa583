package guard

import (
	"net/http/httptest"
	"slices"
	"testing"
)

// noting is a guard that records its call, and the end of the request.
type noting struct {
	name    string
	list    *[]string
	refuses bool
	panics  bool // at the end
}

func (n noting) Pass(x *Exchange) bool {
	*n.list = append(*n.list, n.name)
	x.AtEnd(func() {
		*n.list = append(*n.list, "end of "+n.name)
		if n.panics {
			panic(n.name)
		}
	})
	return !n.refuses
}

func TestGuardsSeeARequestAndItsEndInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuses, panics, handlerPanics bool // the first two are of guard b
		want                           []string
	}{
		"passed":               {want: []string{"a", "b", "c", "handler", "end of c", "end of b", "end of a"}},
		"refused":              {refuses: true, want: []string{"a", "b", "end of b", "end of a"}},
		"a handler that fails": {handlerPanics: true, want: []string{"a", "b", "c", "handler", "end of c", "end of b", "end of a"}},
		"an end that fails":    {panics: true, want: []string{"a", "b", "c", "handler", "end of c", "end of b", "end of a"}},
	} {
		var list []string
		guards := []Guard{noting{"a", &list, false, false}, noting{"b", &list, c.refuses, c.panics}, noting{"c", &list, false, false}}
		failed := ask(guards, func() {
			list = append(list, "handler")
			if c.handlerPanics {
				panic("handler")
			}
		})
		if !slices.Equal(list, c.want) || failed != (c.panics || c.handlerPanics) {
			t.Errorf("%s: %v, panic: %v", name, list, failed)
		}
	}
}

// ask reports whether a request through guards ends in a panic.
func ask(guards []Guard, handler func()) (failed bool) {
	defer func() { failed = recover() != nil }()
	x := &Exchange{Writer: httptest.NewRecorder(), Request: httptest.NewRequest("GET", "/", nil)}
	defer x.End()
	if x.Pass(guards) {
		handler()
	}
	return false
}

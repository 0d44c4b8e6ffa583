package guard

import "net/http"

// Guard looks at a request before it goes on. It refuses the request, which it answers then, or passes it on, maybe
// with another writer or with more in its context.
type Guard interface {
	Pass(x *Exchange) (ok bool)
}

// Exchange is a request on its way past guards, and what it is answered by. Guards have returned when the request goes
// on: with a nested handler for each, every open stream would take more memory. Used by one goroutine.
type Exchange struct {
	Writer  http.ResponseWriter
	Request *http.Request
	ends    []func()
}

// AtEnd has f called when the request has been answered, also where its handler panics. The function that was given
// last is called first.
func (x *Exchange) AtEnd(f func()) { x.ends = append(x.ends, f) }

// End is to be deferred where guards are passed.
func (x *Exchange) End() {
	for _, f := range x.ends {
		defer f() // in reverse, and each of them even where another one panics
	}
}

// Pass reports whether the request passes all guards, which see it one after the other.
func (x *Exchange) Pass(guards []Guard) bool {
	for _, g := range guards {
		if !g.Pass(x) {
			return false
		}
	}
	return true
}

// Refuser answers what a guard does not let through.
type Refuser interface {
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

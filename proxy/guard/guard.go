package guard

import "net/http"

// Guard checks a request. It either responds with a refusal or passes the request on, possibly with another writer or
// context.
type Guard interface {
	Pass(x *Exchange) (ok bool)
}

// Exchange is a request with its response during the checks. Guards return before the handler is called: nested
// handlers would need more memory for every open stream. It is used by one goroutine.
type Exchange struct {
	Writer  http.ResponseWriter
	Request *http.Request
	ends    []func()
}

// AtEnd registers a function that is called after the response, even if its handler panics. Functions are called in
// reverse order.
func (x *Exchange) AtEnd(f func()) { x.ends = append(x.ends, f) }

// End must be deferred by the caller of Pass.
func (x *Exchange) End() {
	for _, f := range x.ends {
		defer f() // in reverse order, even if another one panics
	}
}

// Pass runs the guards in order, and reports whether the request passed all of them.
func (x *Exchange) Pass(guards []Guard) bool {
	for _, g := range guards {
		if !g.Pass(x) {
			return false
		}
	}
	return true
}

// Refuser responds to refused requests.
type Refuser interface {
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

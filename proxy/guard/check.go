package guard

import "net/http"

// Check looks at a request before it goes on. It refuses the request, which it answers then, or passes it, maybe with
// more in its context. What must also see how the request ends is a guard of its own.
type Check interface {
	Pass(w http.ResponseWriter, r *http.Request) (on *http.Request, ok bool)
}

// Refuser answers what a guard does not let through.
type Refuser interface {
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

// InOrder returns a guard made of checks, which look at a request one after the other. They have returned when the
// request goes on: with a nested handler for each, every open stream would take more memory.
func InOrder(list ...Check) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r, ok := passAll(list, w, r); ok {
				next.ServeHTTP(w, r)
			}
		})
	}
}

func passAll(list []Check, w http.ResponseWriter, r *http.Request) (on *http.Request, ok bool) {
	for _, c := range list {
		if r, ok = c.Pass(w, r); !ok {
			return nil, false
		}
	}
	return r, true
}

package adapter

import "net/http"

// Operation is the handler of a route with the rights that it requires (see mapping.Rights). A principal needs all of
// them, and the server checks them before it calls the handler. An operation without rights is open to every admitted
// caller. Such routes reveal nothing, or their rights depend on the body and are checked by the handler.
type Operation struct {
	http.Handler
	Needs []string
}

// Anybody returns h as an operation that needs no right.
func Anybody(h http.Handler) Operation { return Operation{Handler: h} }

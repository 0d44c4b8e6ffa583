package adapter

import "net/http"

// Operation is the handler of a route with the rights that a principal needs for it: all of them (see mapping.Rights).
// The server checks them before it calls the handler. Without any, every admitted caller may call it: for routes that
// reveal nothing, and those where the rights depend on the body and the handler checks them.
type Operation struct {
	http.Handler
	Needs []string
}

// Rights returns the rights that the operation needs.
func (o Operation) Rights() []string { return o.Needs }

// Anybody returns h as an operation that needs no right.
func Anybody(h http.Handler) Operation { return Operation{Handler: h} }

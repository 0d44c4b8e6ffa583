package adapter

import "net/http"

// Operation is the handler of a route, with the rights that a principal needs for it: all of them (see mapping.Rights).
// The server asks for them before the handler is called. None: any caller that is let in, as for what tells nothing,
// and where what is needed depends on the body, for which the handler asks.
type Operation struct {
	http.Handler
	Needs []string
}

// Rights returns the rights that the operation needs.
func (o Operation) Rights() []string { return o.Needs }

// Anybody returns h as an operation that needs no right.
func Anybody(h http.Handler) Operation { return Operation{Handler: h} }

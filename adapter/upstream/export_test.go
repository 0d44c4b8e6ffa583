package upstream

import "net/http"

// NewTransport returns the transport below a client.
var NewTransport = newTransport

// Exchanging returns that transport over another transport than net/http's with our connections.
func Exchanging(next http.RoundTripper) http.RoundTripper {
	return &exchanger{agent: "agent", next: next}
}

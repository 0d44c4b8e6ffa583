package upstream

// NewTransport is the transport below a client.
var NewTransport = newTransport

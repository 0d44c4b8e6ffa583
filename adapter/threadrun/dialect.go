// Package threadrun speaks the LangChain Agent Protocol (0.1.6) and the
// LangGraph Server routes that its SDKs call: two flavours of one dialect of
// threads, runs and a store.
//
// The face (server_*.go) answers clients; the backend (backend.go, client_*.go)
// calls an agent. wire.go reads requests, convert.go writes replies, render.go
// turns events into stream frames.
package threadrun

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// Dialect is the dialect's entry in the table of dialects.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:     "threadrun",
		Mount:    mount,
		Dial:     dial,
		Detect:   detect,
		Flavours: []mapping.Flavour{mapping.FlavourLangGraph, mapping.FlavourAgentProtocol},
		Webhook:  webhook,
	}
}

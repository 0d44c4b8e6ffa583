// Package threadrun speaks the LangChain Agent Protocol (0.1.6) and the LangGraph Server
// routes that its SDKs call: two flavours of one dialect of threads, runs and a store.
// Package face answers clients, package backend calls agents. Start reading at Dialect.
package threadrun

import (
	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/threadrun/backend"
	"github.com/apbridge/apbridge/adapter/threadrun/face"
	"github.com/apbridge/apbridge/mapping"
)

// Dialect is the dialect's entry in the table of dialects.
func Dialect() adapter.Dialect {
	return adapter.Dialect{
		Name:     "threadrun",
		Paths:    []string{"/threads", "/runs", "/agents", "/assistants", "/store", "/ok", "/info", "/ui"},
		Mount:    face.Mount,
		Refusal:  face.Refusal,
		Dial:     backend.Dial,
		Detect:   backend.Detect,
		Flavours: []mapping.Flavour{mapping.FlavourLangGraph, mapping.FlavourAgentProtocol},
		Webhook:  face.Webhook,
	}
}

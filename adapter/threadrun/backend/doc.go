// Package backend calls an agent that serves the LangChain Agent Protocol or LangGraph
// Server, and yields what it does as events (adapter.Backend). The engine calls it; it
// never answers a client, and knows no other dialect. Start reading at Dial; a run is a
// drive, whose phases are in phase.go.
package backend

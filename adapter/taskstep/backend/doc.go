// Package backend calls an agent that speaks the Agent Protocol v1, reads what agents in the
// wild really send, and yields what they do as events (adapter.Backend). The engine calls
// it; it never answers a client, and knows no other dialect. Start reading at Dial; a run is
// a drive, whose phases are in phase.go.
package backend

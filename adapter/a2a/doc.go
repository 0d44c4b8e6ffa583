// Package a2a speaks A2A (Agent2Agent) in versions 1.0 and 0.3, over JSON-RPC and HTTP+JSON. Package face serves clients,
// package wire reads and writes the messages. Only the bridge imports it, for its table of dialects. It keeps no state and
// knows no other dialect. Start reading at Dialect.
package a2a

// Package face serves A2A clients: JSON-RPC in versions 1.0 and 0.3 at /a2a/{agent}, HTTP+JSON below it (0.3 at paths
// that begin with /v1), and agent cards at the well-known paths. Dialect a2a mounts it. It keeps no state: a task is a
// fold of its events (see view), so every replica answers alike and a restart loses nothing.
//
// In comments, "S n" is section n of the A2A specification 1.0. Start reading at Mount, then at view.
package face

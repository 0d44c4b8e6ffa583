// Package proxy is the running bridge as a server: the guards that a request passes before it reaches a dialect's
// routes, health, metrics and shutdown. The bridge makes one Server, mounts the routes, and gives it the words of
// refusals. It knows no dialect, calls no agent and reads no table. Start reading at Server.guarded, which is the order
// of the guards.
//
// # The guards
//
// They stand around the router. A router's own middleware runs for routes that match, so 404 and 405 would go past
// keys, CORS and log.
//
//   - Limits: there is no timeout on a whole answer, because streams are long. Each piece written, and each piece of a
//     body read, has a deadline; a body has one for the whole, and an upload a least rate (limits.upload_rate).
//   - Framing: a request with Transfer-Encoding and Content-Length, or with bare line feeds in its head, is refused
//     with 400, and after each chunked request the connection is closed (RFC 9112 section 6.1). The bytes of
//     connections are followed for it, behind TLS too.
//   - Path: it is judged before anything decides by it. What two programs could read differently (//, .., encoded
//     slashes, double encoding, ;, absolute form) is refused with 400 and never cleaned: a redirect would turn a POST
//     into a GET.
//   - Host: it is checked on loopback only, against DNS rebinding. Elsewhere keys are required.
//   - Origin: a page may call if it is the bridge's own or listed; another may only link here. Cookies are never
//     allowed, so * cannot leak any.
//   - Principal: see package auth. The pages / and /docs (Options.Pages) are shown without a key, and tell of agents by
//     the key that comes with the request. A wrong key is counted as elsewhere, and treated as none. HTTP Basic is
//     taken below /inspect alone, since a browser has no other header for a key there; as a browser sends it unasked,
//     forms are taken from the bridge's own origin only.
//   - Hops: a call of an agent names in CDN-Loop (RFC 8586) the bridges it came through, so that a bridge that is set
//     in front of itself refuses the request.
//   - Admission: it counts requests inside. At shutdown new ones get 503 and Retry-After while the listener stays open,
//     so that /readyz can tell. Running ones and the engine get shutdown_grace; then contexts end with ErrShutdown and
//     streams stop without an end frame, which clients take as a break to resume from. Streams that end with their
//     client alone (adapter.Lasting) are not waited for once the engine's work has ended. With more client connections
//     than three quarters of the file descriptors, requests get 503 too, while /healthz, /readyz and /metrics still
//     answer.
//   - Compression takes JSON and pages of 1 KiB or more. Where the face must know that all of an answer left (a step
//     that is handed out), the answer says no-transform.
//   - Rights: a route names the rights that it needs where a face mounts it (adapter.Operation), and the router asks
//     for them in front of every handler. A route without any is closed to principals with rights by name; rig.Needs
//     fails on one. Where the right depends on the body, the handler asks. No right includes another, so that a table
//     of them can be read without rules.
//
// On the admin listener no key is asked for, so the principal is the one without a tenant. Requests there pass the
// guards that look at a request itself, and the audit log.
//
// # What a request may cost
//
// A body takes at most ten times its length in memory, SQLite's part included, and eleven where all of it is quotes
// (TestPeakOfOneBody). So names are found by a table of positions (rawjson.Index), arrays and objects of thousands of
// tiny elements stay text, and messages stand once in memory. What would grow more is refused before it is read
// (limits.messages, limits.max_state_keys). All bodies under way share limits.request_memory, each with the bytes that
// have arrived; the pieces of a WebSocket count, too (adapter.Room). Near GOMEMLIMIT new work is refused. Long answers
// are written piece by piece, from rows that are read a few at a time (store.longList); a failure after the first byte
// cuts the connection.
package proxy

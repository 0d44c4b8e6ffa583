// Package proxy is the bridge's HTTP server: the guards that a request passes before it reaches a dialect's routes,
// health, metrics and shutdown. The bridge creates one Server, mounts the routes, and provides the bodies of refusals.
// It does not know dialects, call agents or read the database. Start reading at Server.guarded, which has the order of
// the guards.
//
// # The guards
//
// They wrap the router. A router's own middleware runs only for matching routes, so 404 and 405 would bypass keys, CORS
// and logs.
//
//   - Limits: a whole response has no timeout, because streams are long. Each piece written, and each piece of a body
//     read, has a deadline. A body also has one for the whole, and an upload a minimum rate (limits.upload_rate).
//   - Framing: a request with Transfer-Encoding and Content-Length, or with bare line feeds in its head, is refused
//     with 400. After each chunked request the connection is closed (RFC 9112 section 6.1). For that the bytes of
//     connections are inspected, also behind TLS.
//   - Path: it is checked before anything depends on it. A path that programs could read differently (//, .., encoded
//     slashes, double encoding, ;, absolute form) is refused with 400 and never cleaned: a redirect would turn a POST
//     into a GET.
//   - Host: it is checked on loopback only, against DNS rebinding. Elsewhere keys are required.
//   - Origin: a page may call the bridge if it is its own or listed; others may only link to it. Cookies are never
//     allowed, so * cannot leak any.
//   - Principal: see package auth. The pages / and /docs (Options.Pages) are shown without a key, and list agents
//     according to the request's key. A wrong key is counted as elsewhere, and treated as none. HTTP Basic is only
//     accepted below /inspect, because a browser cannot send a key there in any other header. As browsers send it
//     unasked, forms are only accepted from the bridge's own origin.
//   - Hops: a call of an agent names in CDN-Loop (RFC 8586) the bridges that it passed, so that a bridge in front of
//     itself refuses the request.
//   - Admission: it counts requests in progress. At shutdown new ones get 503 and Retry-After while the listener stays
//     open, so that /readyz can report it. Running ones and the engine get shutdown_grace. Then contexts end with
//     ErrShutdown, and streams stop without an end frame, which clients take as an interruption to resume from. Streams
//     that only end with their client (adapter.MarkLongLived) are not waited for once the engine's work has ended. If client
//     connections use more than three quarters of the file descriptors, requests get 503, too, except for /healthz,
//     /readyz and /metrics.
//   - Compression: it applies to JSON and pages of 1 KiB or more. If the face must know that all of a response was sent
//     (a step that is handed out), the response has no-transform.
//   - Rights: a face mounts each route with the rights that it needs (adapter.Operation), and the router checks them
//     before every handler. A route without rights is closed to principals with named rights; rig.Needs fails on one.
//     If the right depends on the body, the handler checks it. No right includes another, so that a table of them can
//     be read without rules.
//
// The admin listener needs no key, so the principal is the one without a tenant. Requests there pass the guards that
// check the request itself, and the audit log.
//
// # What a request may cost
//
// A body takes at most ten times its length in memory, including SQLite's part: twelve times if it consists of quotes,
// and thirteen times if its run is streamed as values, because each of the two frames is rendered whole
// (TestPeakOfOneBody). For that, names are found by a table of positions (rawjson.Index), arrays and objects of
// thousands of tiny elements stay text, and messages are in memory once. Input that would need more is refused before
// it is read (limits.messages, limits.max_state_keys). All bodies in progress share limits.request_memory, each with
// the bytes that have arrived; the messages of a WebSocket count, too (adapter.MemoryBudget). Near GOMEMLIMIT new work
// is refused. Long responses are written piece by piece, from rows that are read a few at a time (store.longList). A
// failure after the first byte cuts the connection.
package proxy

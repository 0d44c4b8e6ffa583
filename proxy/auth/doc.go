// Package auth determines the principal of a request from its key, its token or its certificate. Only the guards of
// package proxy call it. All three kinds have the same permissions (config.Access). It does not read bodies, check
// rights, or write to the database. Start reading at Gate.Authenticate.
//
// A Pass is a principal and its end: the life of its entry in the configuration, and a wall-clock time, at which a
// request's context ends with an error of class Unauthorized. The requests of a key end with the key (Callers.Succeed).
// A configuration that would lock out all callers is refused (Callers.Replaceable).
//
// Keys are compared as digests, in constant time. An address that has sent 20 wrong ones gets 429, without a
// comparison, for any key that it has not used successfully before (Gate).
//
// Tokens are checked with go-jose, which requires explicit algorithms and accepts keys as values, so that no header of
// a token chooses a key, a URL or an algorithm. golang-jwt needs a second library for key sets, and go-oidc leaves
// limits, leeway and the age of keys to its caller. The key set of an issuer is requested by one goroutine at a time,
// at most every 30 seconds, and never while a request holds a lock. The id of a token's principal begins with the name
// of its issuer, so that no token can be mistaken for a key.
//
// A page cannot set headers of a WebSocket except its subprotocols, so the key may be one of those. A one-time ticket
// in the URL would need a row in the database.
package auth

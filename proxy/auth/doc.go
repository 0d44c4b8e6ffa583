// Package auth finds the principal of a request from its key, its token or its certificate. The guards of package proxy
// are its only caller. All three kinds are given the same things (config.Access). It reads no body, decides no right,
// and writes nothing to the database.
//
// A Pass is a principal and its end: the life of its entry in the configuration, and a time on the wall's clock, at
// which a request's context ends with an error of class Unauthorized. What a key may do ends with the key
// (Callers.Succeed). A configuration that would leave no caller is not taken (Callers.Replaceable).
//
// Keys are compared as digests, in the same time for each. An address that has sent 20 wrong ones gets 429 for any key
// that is new from it, before that is looked at (Gate).
//
// Tokens are checked with go-jose, which wants the algorithms named and takes keys as values: no header of a token
// chooses a key, a URL or an algorithm. golang-jwt needs a second library for key sets, and go-oidc leaves bounds,
// leeway and the age of keys to its caller. The key set of an issuer is asked for by one goroutine at a time, at most
// every 30 seconds, and never while a request holds a lock. The id of a token's principal begins with the name of its
// issuer, so that no token can pass for a key.
//
// A page's WebSocket has no headers but its subprotocols, so the key may be one of those. A one-time ticket in the URL
// would need a row in the database for the same.
package auth

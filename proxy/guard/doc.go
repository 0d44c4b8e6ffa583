// Package guard defines checks of requests (Guard). It contains those that need neither a route nor a caller: of the
// path, the host, the calling page, and the bridges through which the request came. The server runs them before its
// routes, in the order of Server.guarded. They do not keep requests, and respond only to refused ones. Start reading at
// Guard and Exchange.
package guard

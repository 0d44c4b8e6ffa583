// Package guard defines checks of requests (Guard), and has the ones that need neither a route nor a caller: of the
// path, of the host, of the calling page, and of the bridges through which the request came. The server runs them
// before its routes, in the order of Server.guarded. They keep no request, and only answer refused ones. Start reading
// at Guard and Exchange.
package guard

// Package guard has what looks at a request before it goes on (Guard), and the guards that need to know neither a route
// nor a caller: of the path, of the host that is named, of the page that calls, and of the bridges that the request
// came through. The server puts them in front of its routes, in the order of Server.guarded. They keep nothing of a
// request, and answer only what they refuse.
package guard

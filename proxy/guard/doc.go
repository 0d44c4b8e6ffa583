// Package guard refuses requests before anything is decided by them: by their path, the host that
// they name, the page that they come from, and the bridges that they came through. The server puts
// its guards before the routes; they know neither a route nor a caller.
package guard

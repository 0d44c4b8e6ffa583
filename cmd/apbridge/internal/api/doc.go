// Package api is a client of a bridge's public routes, as any client of threads and runs uses them, and of this
// bridge's own ones (explain). The commands remote and run use it. It does not know the bridge's internals. Start
// reading at Client.
package api

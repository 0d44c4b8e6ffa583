// Package api is a client of a bridge's public routes: those of threads and runs, which any client uses, and apbridge's
// extensions such as explain. The commands remote and run use it. It does not depend on the bridge's internals. Start
// reading at Client.
package api

// Package api calls a bridge the way any client of threads and runs does: by its public routes, and by those that this
// bridge alone has (explain). The commands remote and run use it. It knows nothing of the bridge's inside.
package api

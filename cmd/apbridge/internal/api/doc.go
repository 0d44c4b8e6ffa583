// Package api calls a bridge the way any client of threads and runs does: by its public routes,
// and by those that this bridge alone has (explain). It knows nothing of the bridge's inside.
package api

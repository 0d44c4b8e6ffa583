// Package limit bounds how much a key and a tenant may use: rates of requests, runs and bytes,
// streams that are open, and what may be there at once, which the store asks for and counts.
package limit

// Package adapter is the contract between the bridge and the dialects it
// speaks. A dialect has two sides: a face, mounted on the bridge's router, and
// a backend, which calls an agent. Every face works in front of every backend,
// since both only know the neutral model of package mapping.
//
// A new dialect is a new folder with a Dialect value, and a line in a table (Dialects); see
// CONTRIBUTING.md.
package adapter

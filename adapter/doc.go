// Package adapter is the contract between the bridge and its dialects. A dialect has two sides: a face, which is
// mounted on the bridge's router, and a backend, which calls an agent. Every face works with every backend because both
// only know the neutral model of package mapping. Start reading at Dialect, Backend and Service.
//
// Dialects implement Dialect and Backend, package service implements Service, and the engine calls backends. The
// package contains types and small rules. It opens no connections except those of Auto, which detects the dialect of an
// agent, and it names no dialect.
//
// A new dialect is a new folder with a Dialect value, and a line in a table (Dialects); see CONTRIBUTING.md. If two
// dialects own a path, the first one in the table takes precedence. A member of a request that is never read is refused
// if its name looks like a misspelled field (mapping.Misspelt), and otherwise named in X-Apbridge-Ignored. A role of a
// message is refused in the same way. A role that resembles no known one may be an agent's own and is accepted.
package adapter

// Package adapter is the contract between the bridge and the dialects it speaks. A dialect has two sides: a face,
// mounted on the bridge's router, and a backend, which calls an agent. Every face works in front of every backend,
// since both only know the neutral model of package mapping.
//
// Dialects implement Dialect and Backend, package service implements Service, and the engine calls backends. The
// package holds types and small rules: it opens no connection but those of Auto, which asks an agent what it speaks,
// and it knows no dialect by name.
//
// A new dialect is a new folder with a Dialect value, and a line in a table (Dialects); see CONTRIBUTING.md. Of two
// owners of a path the first one in the table counts. A member of a request that no reader asks for is refused where
// its name is a field's with a slip (mapping.Misspelt), and else named in X-Apbridge-Ignored. The role of a message is
// refused the same way; one that resembles no other may be an agent's own, and passes.
package adapter

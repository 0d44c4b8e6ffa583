// Package matrix tests every kind of client with every kind of agent, and properties of every route: its documentation,
// its refusals, its permissions and the visibility of data, and that a repeated request has one effect. Stock clients
// that cannot be installed are replayed, and another dialect is added. It only has tests.
package matrix

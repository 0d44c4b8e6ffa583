// Package line is the connections to a PostgreSQL server as wires that know for how long they are waited for. Package
// sqldb is its only caller: it dials over Lines, says which process of the server is behind each, and has those given
// up that wait for nothing.
//
// The package asks the server nothing and decides no time: what is busy, and how long is long, its caller says. It
// knows no statement, and nothing of what a connection is for.
package line

// Package line wraps the connections to a PostgreSQL server and records the start of each wait for one. Its only user
// is package sqldb: it dials through Lines, records which server process serves each connection, and closes connections
// that do not respond.
//
// The package does not query the server and sets no time limits; its caller supplies both. It does not depend on the
// statements or the purpose of a connection.
package line

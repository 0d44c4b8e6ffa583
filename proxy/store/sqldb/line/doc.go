// Package line wraps the connections to a PostgreSQL server and records how long each has been waited for. Its only
// user is package sqldb: it dials through Lines, records which server process serves each connection, and closes
// connections on which it waits in vain.
//
// The package does not query the server and sets no time limits; its caller supplies both. It knows nothing about
// statements or the purpose of a connection.
package line

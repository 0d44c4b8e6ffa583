// Package archive exports a whole database and restores it: as a copy of a SQLite file (Backup, Restore, Check), and as
// lines of JSON that both kinds of database can import (Export, Import). The database commands use it, and store.Owners
// writes rows in its format. It knows tables and columns, but not the meaning of their rows. Start reading at Export
// and Backup.
//
// It works while a bridge is using the database: it reads in one transaction on its own connection (sqldb.Look,
// sqldb.CopySQLite), so it does not need the writing process's lock. A copy of the pages would preserve any damage, so
// the copy is checked before it gets its final name. An import is one transaction (sqldb.Fill) without the time limits
// of operations, so an interrupted import leaves nothing behind.
//
// # The format of an export
//
// Each line is one JSON object in UTF-8. The first is the header:
//
//	{"apbridge_export":1,"schema":22}
//
// apbridge_export is the version of this format, and schema that of the tables. Each further line is a row: an object
// with one member, named after the table, that contains all columns of the row:
//
//	{"threads":{"id":1,"tenant":"","thread_id":"…","metadata":"{\"a\":1}",…}}
//
// Numbers are numbers. Texts are strings, and so are bytes that are valid UTF-8, such as JSON. Other bytes are
// {"base64":"…"}. NULL is null. Tables come in a fixed order, and rows in the order of their keys, so that equal
// databases give equal exports. The last line is
//
//	{"end":{"rows":1234}}
//
// with the number of rows before it. An export without it is incomplete.
//
// Data derived from other rows is left out (item_tokens, item_members and the columns that repeat them). A bridge
// rebuilds it in the background. Leases of processes are left out, too.
package archive

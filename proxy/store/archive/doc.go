// Package archive takes a whole database out and puts it back: as a copy of a SQLite file (Backup, Restore, Check), and
// as lines of JSON that either database reads (Export, Import). The database commands call it, and store.Owners writes
// rows in its format. It knows tables and columns, and never what their rows mean.
//
// It works beside a bridge that uses the database: it reads in one transaction on a connection of its own (sqldb.Look,
// sqldb.CopySQLite), so it does not need the lock of the process that writes. A copy of pages would keep damage, so it
// is checked before it gets its name. An import is one transaction (sqldb.Fill) without the time limits of operations,
// so that a killed one leaves nothing.
//
// # The format of an export
//
// Each line is one JSON object in UTF-8. The first is the header:
//
//	{"apbridge_export":1,"schema":22}
//
// apbridge_export is the version of this format, schema that of the tables. Each further line is a row, an object with
// one member: the table's name, and in it all columns of the row:
//
//	{"threads":{"id":1,"tenant":"","thread_id":"…","metadata":"{\"a\":1}",…}}
//
// Numbers are numbers, texts are strings, and so are bytes that are UTF-8, as carried JSON is; any other bytes are
// {"base64":"…"}. NULL is null. Tables come in a fixed order, and rows in the order of their keys, so that equal
// databases make equal exports. The last line is
//
//	{"end":{"rows":1234}}
//
// with the number of rows before it; an export without it was cut off.
//
// What is made from other rows is left out (item_tokens, item_members and the columns that repeat them): a bridge makes
// it anew in the background. So are leases of processes.
package archive

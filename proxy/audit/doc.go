// Package audit keeps the log of who did what, a line of JSON for each operation. It holds no
// contents, and it loses nothing in silence: while lines cannot be written nothing is done that it
// would have to tell of.
package audit

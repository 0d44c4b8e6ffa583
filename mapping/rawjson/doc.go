// Package rawjson reads and writes JSON and keeps the original bytes of values. It finds values, splits objects and
// arrays, compares and merges them without decoding their contents, and writes by appending, so that a value is neither
// parsed nor copied more often than needed. Every package that carries JSON uses it. It never decodes a value into Go
// types, and does no I/O. Start reading at Get, Members and Writer.
//
// It reads JSON according to RFC 8259, nested less than 10,000 deep. If two members have the same name, the later value
// counts, at the position of the earlier one. Returned values and names are slices of the text.
package rawjson

// Package rawjson reads and writes JSON that is carried: values stay the bytes they came as. It finds values, splits
// objects and arrays, compares and merges them without decoding what is in them, and writes by appending, so that a
// value is neither parsed nor copied more often than needed. Every package that carries JSON calls it. It never decodes
// a value into Go types, and does no I/O.
//
// What it reads is JSON as RFC 8259 has it, nested less than 10,000 deep. Of two members with one name the later value
// counts, at the earlier place. Values and names that it returns are parts of the text they were found in.
package rawjson

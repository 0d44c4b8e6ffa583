// Package rawjson reads and writes JSON that is carried: values stay the bytes they came
// as. It splits objects and arrays without decoding what is in them, and writes by
// appending, so that a value is neither parsed nor copied more often than needed.
package rawjson

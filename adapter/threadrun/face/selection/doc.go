// Package selection reads and follows what a client of the face wants of an answer: the options select and extract of
// LangGraph's SDKs. Package face calls it. It asks no service.
package selection

// Package selection reads and follows what a client of the face wants of an answer: the options
// select and extract of LangGraph's SDKs.
package selection

// Package adaptertest is test support for dialects: the contract of adapter.Backend as a suite that runs over any of
// them, and scripted agents to run it against. Tests and package rig call it; nothing that is built does.
//
// Scripted agents speak bytes that were written down by hand from what real servers send. They never use the wire types
// of a dialect: a backend and its test would otherwise share one mistake.
//
// Main is for tests of any package: it finds goroutines that they leave.
package adaptertest

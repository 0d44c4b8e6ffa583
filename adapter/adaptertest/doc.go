// Package adaptertest is test support for dialects: the contract of adapter.Backend as a suite that runs over any of
// them, and scripted agents for it. Tests and package rig use it; it is not part of any binary. Start reading at
// TestBackend.
//
// Scripted agents send bytes written by hand after those of real servers. They never use the wire types of a dialect,
// because a backend and its test would then share mistakes.
//
// Main is for tests of any package. It detects goroutines that they leave running.
package adaptertest

// Package adaptertest is test support for dialects. It contains a test suite for the contract of adapter.Backend, and
// scripted agents. Tests and package rig use it; it is not part of any binary. Start reading at TestBackend.
//
// Scripted agents send bytes that are written by hand and modelled on those of real servers. They never use the wire
// types of a dialect, because a backend and its test would then share mistakes.
//
// Main is for the tests of any package. It detects goroutines that tests leave running.
package adaptertest

// Package a2a tests the promises to A2A clients. It only has tests.
package a2a

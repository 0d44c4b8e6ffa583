//go:build !unix

package storetest

import "testing"

// CPU reports nothing: this system does not tell the processor time.
func CPU(*testing.B) func() { return func() {} }

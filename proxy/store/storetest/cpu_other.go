//go:build !unix

package storetest

import "testing"

// CPU reports nothing, because this system does not provide the processor time.
func CPU(*testing.B) func() { return func() {} }

//go:build !unix

package console

import "io"

// WidthOf returns the number of columns of a terminal, or 0 if unknown.
func WidthOf(io.Writer) int { return 0 }

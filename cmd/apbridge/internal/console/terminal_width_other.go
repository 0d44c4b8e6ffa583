//go:build !unix

package console

import "io"

// WidthOf returns the number of columns of a terminal; 0 where it does not say.
func WidthOf(io.Writer) int { return 0 }

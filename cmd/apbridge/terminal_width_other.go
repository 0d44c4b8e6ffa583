//go:build !unix

package main

import "io"

// widthOf is the number of columns of a terminal; 0 where it does not say.
func widthOf(io.Writer) int { return 0 }

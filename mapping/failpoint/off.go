//go:build !failpoint

package failpoint

// Enabled reports whether this build has fail points.
const Enabled = false

// Hit is where a point is reached.
func Hit(Point) {}

// Flushed notes nothing.
func Flushed(int64) {}

// Caller is never asked for in this build.
func Caller(...string) string { return "" }

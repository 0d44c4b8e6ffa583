// Package inspect tests the browser's view of a bridge: the inspector, the pages / and /docs, and that the example
// programs on them run. It only contains tests.
package inspect

// Package bench measures the speed of the bridge beside no bridge and a bare proxy; see CONTRIBUTING.md. It holds tests
// only, and tests no behaviour.
package bench

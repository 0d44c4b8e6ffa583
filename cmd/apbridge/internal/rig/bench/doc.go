// Package bench measures the speed of the bridge beside no bridge and a bare proxy; see
// CONTRIBUTING.md.
package bench

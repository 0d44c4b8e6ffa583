// Package bench measures the speed of the bridge, compared with no bridge and a bare proxy; see CONTRIBUTING.md. It
// only contains benchmarks in the form of tests.
package bench

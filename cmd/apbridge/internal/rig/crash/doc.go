// Package crash tests the state after crashes: of a process at each fail point, of several bridges under load, and of
// PostgreSQL. It only contains tests.
package crash

// Package crash tests the state after deaths: of a process at each fail point, of several bridges under load, of
// PostgreSQL. It only has tests.
package crash

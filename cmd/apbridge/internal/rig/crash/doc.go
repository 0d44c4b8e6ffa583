// Package crash shows what is left after deaths: of a process at each fail point, of several bridges under load, of
// PostgreSQL. It holds tests only.
package crash

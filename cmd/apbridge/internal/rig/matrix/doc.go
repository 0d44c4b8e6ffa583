// Package matrix shows every kind of client in front of every kind of agent: conversations, refusals, keys of the
// configuration, routes and keys of callers. It holds tests only.
package matrix

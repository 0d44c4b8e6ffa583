// Package matrix tests every kind of client with every kind of agent. It also tests properties of every route: its
// documentation, refusals, permissions, visibility of data, and that a repeated request has one effect. It replays
// stock clients that cannot be installed, and adds another dialect. It only contains tests.
package matrix

// Package matrix shows every kind of client in front of every kind of agent, and what holds for every route: its
// document, what it refuses, who may ask it and whose data it shows, and that a request that comes again is answered
// once. Stock clients that cannot be installed are replayed, and a further dialect is put into the table. It holds
// tests only.
package matrix

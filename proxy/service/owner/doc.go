// Package owner says what is kept of a principal, takes it out, and removes it. The service makes it, and
// administrators ask it by the routes of the bridge. It makes nothing, and knows no dialect.
//
// A removal asks an agent for its copies before it deletes the thread that knows of them, and each thing goes in a
// transaction of its own, so that it needs no record of its progress. It looks through all again until nothing is new,
// in place of a lock on the owner that all bridges would have to ask (removal).
package owner

// Package rig starts and asks bridges for the tests of the whole program: a bridge in this process (Bridge), one in a
// process of its own (Process), and one that dies and comes again over the same database (Killable), with the agents
// that they stand in front of. Bridges run as users run them, with synchronous full, unless storetest.Flushing says
// otherwise. Nothing that is built imports it.
package rig

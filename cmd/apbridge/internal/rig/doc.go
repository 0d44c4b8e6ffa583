// Package rig starts bridges for tests of the whole program and sends them requests: a bridge in this process (Bridge),
// one in a separate process (Process), and one that dies and restarts over the same database (Killable), with their
// agents. Bridges run as for users, with synchronous full, unless storetest.Flushing is set. Only tests import it.
package rig

// Package rig starts bridges with agents for tests of the whole program, and sends them requests. A bridge runs in this
// process (Bridge), in a separate process (Process), or in a process that dies and restarts with the same database
// (Killable). As by default, bridges have synchronous full, unless storetest.Flushing is set. Only tests import this
// package. Start reading at Bridge.
package rig

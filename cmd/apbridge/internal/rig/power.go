package rig

import (
	"os"
	"strconv"
)

// Setting is how the processes of a Killable write, and what dies with the one that dies.
type Setting struct {
	Name        string
	Synchronous string // "": as all tests have it
	Cut         bool   // the machine dies: what was not flushed is gone
}

// cutPower cuts SQLite's log to the part that was flushed, by the process's own account. The file itself lacks nothing:
// the log of a scene is too short for a checkpoint.
func (d *Killable) cutPower() {
	d.T.Helper()
	text, err := os.ReadFile(d.Dsn + "-flushed")
	if err != nil && !os.IsNotExist(err) {
		d.T.Fatal(err)
	}
	flushed, _ := strconv.ParseInt(string(text), 10, 64)
	info, err := os.Stat(d.Dsn + "-wal")
	switch {
	case os.IsNotExist(err):
		return
	case err == nil && info.Size() > flushed:
		err = os.Truncate(d.Dsn+"-wal", flushed)
	}
	if err != nil {
		d.T.Fatal(err)
	}
	_ = os.Remove(d.Dsn + "-shm")
}

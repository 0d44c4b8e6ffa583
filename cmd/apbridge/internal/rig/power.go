package rig

import (
	"os"
	"strconv"
)

// Setting configures the writes of a Killable's processes, and the extent of their death.
type Setting struct {
	Name        string
	Synchronous string // "" means the default of all tests
	Cut         bool   // the machine dies, too: unflushed data is lost
}

// cutPower truncates SQLite's log to its flushed part, according to the process. The database file itself is complete:
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

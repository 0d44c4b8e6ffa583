//go:build unix && !solaris && !aix && !linux && !darwin

package filelock

import "os"

// lockWhole: these systems have no lock that SQLite's own would not run into. The lock of the name is all there is.
func lockWhole(*os.File) error { return ErrUnlocked }

func unlockWhole(*os.File) {}

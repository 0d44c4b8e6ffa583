//go:build unix && !solaris && !aix && !linux && !darwin

package filelock

import "os"

// lockWhole returns ErrUnlocked: every kind of lock on these systems would conflict with SQLite's own. Only the name is
// locked.
func lockWhole(*os.File) error { return ErrUnlocked }

func unlockWhole(*os.File) {}

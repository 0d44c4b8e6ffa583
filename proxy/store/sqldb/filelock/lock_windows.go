package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY

func tryLock(f *os.File) error { return lockByte(f, new(windows.Overlapped)) }

// lockWhole locks a byte far beyond those that SQLite locks (at 1 GiB) and beyond the end of any file, because other
// processes cannot read a locked byte.
func lockWhole(f *os.File) error {
	err := lockByte(f, &windows.Overlapped{OffsetHigh: 1 << 30})
	if err != nil && !errors.Is(err, ErrLocked) {
		return ErrUnlocked
	}
	return err
}

func lockByte(f *os.File, at *windows.Overlapped) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// unlock does nothing: child processes do not inherit the handle.
func unlock(*os.File) {}

func unlockWhole(*os.File) {}

// linkCount returns the number of names of a file.
func linkCount(f *os.File) uint64 {
	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info) != nil {
		return 1
	}
	return uint64(info.NumberOfLinks)
}

//go:build linux || darwin

package filelock

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockAt is the byte that represents a whole database. It lies far beyond the bytes that SQLite locks (at 1 GiB) and
// beyond the end of any file.
const lockAt = 1<<62 - 1

// lockWhole locks a database as long as its descriptor is open, with a lock of the open file description (fcntl(2),
// "Open file description locks"). SQLite's own POSIX locks on the same file have other owners and other bytes. flock(2)
// would not work: where it is implemented with byte ranges (macOS, network file systems), it conflicts with SQLite's
// locks.
func lockWhole(f *os.File) error {
	err := unix.FcntlFlock(f.Fd(), setLock, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: lockAt, Len: 1})
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return ErrLocked
	case err != nil:
		return ErrUnlocked
	}
	return nil
}

func unlockWhole(f *os.File) {
	_ = unix.FcntlFlock(f.Fd(), setLock, &unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart, Start: lockAt, Len: 1})
}

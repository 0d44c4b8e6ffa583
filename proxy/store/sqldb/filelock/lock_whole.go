//go:build linux || darwin

package filelock

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockAt is the byte that stands for a whole database: far after those that SQLite locks (at 1 GiB), and after every
// file's end.
const lockAt = 1<<62 - 1

// lockWhole locks a database for the life of its descriptor, by a lock of the open file description (fcntl(2), "Open
// file description locks"). SQLite's own POSIX locks on the same file have other owners and other bytes. A flock(2)
// would not do: where it is made of byte ranges (macOS, network file systems), it is in SQLite's way.
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

// unlockWhole is unlock for the lock of lockWhole.
func unlockWhole(f *os.File) {
	_ = unix.FcntlFlock(f.Fd(), setLock, &unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart, Start: lockAt, Len: 1})
}

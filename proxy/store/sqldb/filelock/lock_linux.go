package filelock

import "golang.org/x/sys/unix"

const setLock = unix.F_OFD_SETLK

package filelock

// setLock is F_OFD_SETLK of <sys/fcntl.h>, which x/sys does not define.
const setLock = 90

package sqldb

import "time"

// Blob returns bytes as a parameter. nil becomes NULL, because a driver might not distinguish nil from empty bytes.
func Blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// TimeOf converts a column of microseconds to a UTC time. 0 becomes the zero time.
func TimeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

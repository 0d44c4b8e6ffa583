package sqldb

import "time"

// Blob returns bytes as a parameter: nil is NULL. A driver may make no difference between nil and empty bytes by
// itself.
func Blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// TimeOf returns the time of a column of microseconds UTC; 0 is the zero time.
func TimeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

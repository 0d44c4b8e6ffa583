package mapping

// UploadCursor is a position in the uploads of a thread: the time of the newest one in microseconds, by the clock of
// the store. 0 is before all uploads. Uploads are compared only with each other, never with a process's clock: an
// upload that arrived during a step would otherwise seem to be older than the end of the step.
type UploadCursor int64

// Has reports whether the cursor is at or after the artifact.
func (m UploadCursor) Has(a Artifact) bool { return a.ModifiedAt.UnixMicro() <= int64(m) }

// With returns the cursor moved forward to include the uploads of a list.
func (m UploadCursor) With(list ...Artifact) UploadCursor {
	for _, a := range list {
		if !a.AgentCreated && !m.Has(a) {
			m = UploadCursor(a.ModifiedAt.UnixMicro())
		}
	}
	return m
}

// Before returns the cursor, moved back to just before the artifact if it is later.
func (m UploadCursor) Before(a Artifact) UploadCursor {
	return min(m, UploadCursor(a.ModifiedAt.UnixMicro()-1))
}

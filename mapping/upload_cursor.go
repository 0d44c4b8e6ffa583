package mapping

// UploadCursor is a mark in the uploads of a thread: the time of the newest one, as the store told it, in microseconds;
// 0 stands before all. Uploads are compared with each other only, never with the clock of a process: one that came in
// while a step was under way would fall before that step's end.
type UploadCursor int64

// Has reports whether the mark stands at or after the artifact.
func (m UploadCursor) Has(a Artifact) bool { return a.ModifiedAt.UnixMicro() <= int64(m) }

// With returns the mark moved on to the uploads of a list, too.
func (m UploadCursor) With(list ...Artifact) UploadCursor {
	for _, a := range list {
		if !a.AgentCreated && !m.Has(a) {
			m = UploadCursor(a.ModifiedAt.UnixMicro())
		}
	}
	return m
}

// Before returns the mark, moved back to just before the artifact where it stands later.
func (m UploadCursor) Before(a Artifact) UploadCursor {
	return min(m, UploadCursor(a.ModifiedAt.UnixMicro()-1))
}

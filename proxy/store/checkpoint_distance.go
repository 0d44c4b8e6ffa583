package store

// Distance is what a state is folded from beside a snapshot: so many events that change it, with so many bytes of data.
// The caller that appends a checkpoint keeps count of it, so that appending costs what is appended, and hands over a
// snapshot where one is due.
type Distance struct{ Rows, Bytes int }

// Distance returns the distance of a state that was read whole (not of one that Continues another).
func (s *State) Distance() Distance { return Distance{Rows: len(s.Events), Bytes: s.DiffBytes} }

// Plus returns the distance after one more event, with data of so many bytes.
func (d Distance) Plus(bytes int) Distance { return Distance{Rows: d.Rows + 1, Bytes: d.Bytes + bytes} }

// SnapshotDue reports whether a checkpoint at this distance is to be kept whole, where its state has so many bytes:
// when the differences are longer than the state, or too many to be read as quickly. So reading any checkpoint costs at
// most about two states. Differences that are longer by a thousandth, for what stands around their values, are no
// reason: a large update would be logged twice, in its difference and in a snapshot.
func (d Distance) SnapshotDue(stateSize int) bool {
	return d.Rows > RowsBetween(stateSize) || d.Bytes > max(stateSize+stateSize/1024, shortDiffs)
}

// shortDiffs is up to how many bytes of differences are no reason for a snapshot, however small the state is.
const shortDiffs = 4095

// RowsBetween returns how many differences may follow a snapshot before there is to be another one, for a state of so
// many bytes. Reading a difference costs about as much as reading 2 KiB of a state, on both databases: so no checkpoint
// takes much longer to read than its state alone, and a snapshot costs each of the checkpoints before it less than a
// sixteenth of a state.
func RowsBetween(stateSize int) int { return 16 + stateSize/4096 }

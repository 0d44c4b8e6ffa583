package store

// Distance measures the amount that is folded on a snapshot to get a state: the number of state-changing events and the
// bytes of their data. The caller that appends checkpoints keeps count and passes a snapshot if one is due, so that the
// cost of an append depends only on its size.
type Distance struct{ Rows, Bytes int }

// Distance returns the distance of a state that was read completely (not one that Continues another).
func (s *State) Distance() Distance { return Distance{Rows: len(s.Events), Bytes: s.DiffBytes} }

// Plus returns the distance after one more event with the given number of bytes.
func (d Distance) Plus(bytes int) Distance { return Distance{Rows: d.Rows + 1, Bytes: d.Bytes + bytes} }

// SnapshotDue reports whether a checkpoint at this distance needs a snapshot, given the size of its state in bytes. It
// does if the differences are larger than the state or too many to be read as quickly. So reading any checkpoint costs
// at most about as much as reading two states. Differences may exceed the size of the state by a thousandth, which is
// the overhead around their values. Otherwise a large update would be stored twice, as a difference and as a snapshot.
func (d Distance) SnapshotDue(stateSize int) bool {
	return d.Rows > RowsBetween(stateSize) || d.Bytes > max(stateSize+stateSize/1024, shortDiffs)
}

// shortDiffs is the number of bytes of differences that never need a snapshot, however small the state is.
const shortDiffs = 4095

// RowsBetween returns how many differences may follow a snapshot before the next one, given the size of the state in
// bytes. Reading a difference costs about as much as reading 2 KiB of a state, on both databases. So no checkpoint
// takes much longer to read than its state alone, and a snapshot costs each of the checkpoints before it less than a
// sixteenth of a state.
func RowsBetween(stateSize int) int { return 16 + stateSize/4096 }

package column

// In and Out are the parameters of a statement and where its columns go.
type (
	In  = []any
	Out = []any
)

package mapping

// StepFolder folds the events of one task, over all its runs, into numbered
// steps, and says when each may be handed out (DESIGN "Step folding and
// hand-out"). Not for concurrent use. The zero value is not ready: use
// NewStepFolder.
type StepFolder struct{}

// NewStepFolder folds for a task in the given stepping mode.
func NewStepFolder(taskID string, mode Stepping) *StepFolder { panic("stub") }

// Add takes the next event of the task's runs, in order, and returns the steps
// it released, oldest first. Step.Input stays nil: the hand-out knows it.
func (f *StepFolder) Add(e *Entry) []Step { panic("stub") }

// Held is the step that waits for proof of more work, or nil. It is listed as
// running.
func (f *StepFolder) Held() *Step { panic("stub") }

// Count is the number of steps released so far.
func (f *StepFolder) Count() int { panic("stub") }

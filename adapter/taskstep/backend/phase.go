package backend

import "fmt"

// phase is the phase of a run.
type phase int

const (
	recalling   phase = iota // the log is replayed
	locating                 // the agent's routes are located
	creating                 // the agent's task is created
	findingTask              // a task whose creation was not answered is searched for
	linking                  // the agent's task id is logged
	reconciling              // the call that an earlier process may have sent is resolved
	uploading                // files are uploaded
	stepping                 // a step is requested
	searching                // a step whose call was not answered is searched for
	delivering               // a step and its files are yielded
	ambiguous                // more than one call is unresolved: another step may be in progress
	ended                    // the end was yielded
)

var phaseNames = [...]string{"recalling", "locating", "creating", "finding task", "linking", "reconciling", "uploading", "stepping", "searching",
	"delivering", "ambiguous", "ended"}

func (p phase) String() string { return phaseNames[p] }

// phases lists the phases that may follow each phase. An error ends a run in any of them. Nothing is sent twice,
// because no phase leads back to creating, and a step is requested only after all steps before it were delivered.
var phases = map[phase][]phase{
	recalling:   {locating, linking, reconciling, uploading, ended},
	locating:    {creating, findingTask, linking, reconciling, uploading},
	creating:    {linking, findingTask},
	findingTask: {linking},
	linking:     {reconciling, uploading},
	reconciling: {uploading},
	uploading:   {stepping, delivering},
	stepping:    {delivering, searching},
	searching:   {delivering},
	delivering:  {stepping, delivering, ambiguous, ended},
	ambiguous:   {},
	ended:       {},
}

// mayFollow returns an error unless to may follow from.
func mayFollow(from, to phase) error {
	for _, next := range phases[from] {
		if next == to {
			return nil
		}
	}
	return fmt.Errorf("a run cannot go from %s to %s", from, to)
}

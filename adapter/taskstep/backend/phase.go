package backend

import "fmt"

// phase is the phase of a run.
type phase int

const (
	recalling   phase = iota // what is logged already is taken in
	locating                 // where the agent's routes are
	creating                 // the agent's task is made
	findingTask              // a task is looked for whose creation came to no answer
	linking                  // what the agent calls the task is told
	reconciling              // what became of the call that an earlier process may have sent
	uploading                // files are handed over
	stepping                 // a step is asked for
	searching                // a step is looked for whose call came to no answer
	delivering               // a step and its files are told
	ambiguous                // more is missing than one call: a further step may be under way
	ended                    // the end was told
)

var phaseNames = [...]string{"recalling", "locating", "creating", "finding task", "linking", "reconciling", "uploading", "stepping", "searching",
	"delivering", "ambiguous", "ended"}

func (p phase) String() string { return phaseNames[p] }

// phases lists the phases that may follow each. An error ends a run in any of them. Nothing is sent twice: no phase
// leads back to creating, and a step is requested once all steps before it were delivered.
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

// mayFollow reports an error unless to may follow from.
func mayFollow(from, to phase) error {
	for _, next := range phases[from] {
		if next == to {
			return nil
		}
	}
	return fmt.Errorf("a run cannot go from %s to %s", from, to)
}

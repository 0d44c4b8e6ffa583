package backend

import "fmt"

// phase is the phase of a drive.
type phase int

const (
	locating   phase = iota // the graph, or the agent of an Agent Protocol server, is determined
	pickingUp               // a run that an earlier call of Run began is searched for
	preparing               // the upstream thread is brought to our state
	making                  // the thread is created separately, because the run's request did not create it
	replacing               // a new thread replaces one that the server lost
	starting                // the run's request is sent
	continuing              // the request for the run's next step is sent
	reading                 // frames of an open stream are read
	rejoining               // the stream is reopened after the last frame
	asking                  // the state of the run is requested after its stream has closed
	searching               // a run whose request was not answered is searched for
	waiting                 // the result of a run is waited for
	failing                 // the state after a failed run is recorded
	ended                   // the end was yielded
)

var phaseNames = [...]string{"locating", "picking up", "preparing", "making", "replacing", "starting", "continuing", "reading",
	"rejoining", "asking", "searching", "waiting", "failing", "ended"}

func (p phase) String() string { return phaseNames[p] }

// phases lists the phases that may follow each. An error ends a drive in any of them.
type phases map[phase][]phase

// graphPhases is for LangGraph servers. The searches for runs are part of the phases that need them. A phase returns to
// starting only if the server has not accepted the request.
var graphPhases = phases{
	locating:   {pickingUp},
	pickingUp:  {preparing, continuing, rejoining},
	preparing:  {starting, replacing},
	making:     {starting},
	replacing:  {starting},
	starting:   {reading, rejoining, making, replacing},
	continuing: {reading, rejoining},
	reading:    {asking, rejoining, failing, ended},
	rejoining:  {reading, rejoining, asking, failing},
	asking:     {ended, continuing, rejoining, failing},
	failing:    {},
	ended:      {},
}

// plainPhases is for servers that only have the routes of the Agent Protocol. Their streams are not resumed.
var plainPhases = phases{
	locating:  {pickingUp},
	pickingUp: {preparing, searching, waiting},
	preparing: {starting},
	starting:  {reading, searching, ended},
	reading:   {waiting},
	searching: {waiting},
	waiting:   {ended},
	ended:     {},
}

// mayFollow reports an error unless to may follow from.
func (p phases) mayFollow(from, to phase) error {
	for _, next := range p[from] {
		if next == to {
			return nil
		}
	}
	return fmt.Errorf("a drive cannot go from %s to %s", from, to)
}

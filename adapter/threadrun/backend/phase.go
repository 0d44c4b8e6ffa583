package backend

import "fmt"

// phase is the phase of a driver.
type phase int

const (
	locating   phase = iota // determines the graph, or the agent of an Agent Protocol server
	pickingUp               // searches for a run that an earlier call of Run began
	preparing               // brings the upstream thread to our state
	making                  // creates the thread separately, because the run's request did not create it
	replacing               // replaces a thread that the server lost
	starting                // sends the request for the run
	continuing              // sends the request for the run's next step
	reading                 // reads frames of an open stream
	rejoining               // reopens the stream after the last frame
	asking                  // requests the state of the run after its stream has closed
	searching               // searches for a run whose request got no response
	waiting                 // waits for the result of a run
	failing                 // records the state after a failed run
	ended                   // the end has been yielded
)

var phaseNames = [...]string{"locating", "picking up", "preparing", "making", "replacing", "starting", "continuing", "reading",
	"rejoining", "asking", "searching", "waiting", "failing", "ended"}

func (p phase) String() string { return phaseNames[p] }

// phases maps each phase to its possible successors. An error in any phase ends the driver.
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

// mayFollow returns an error unless to is a successor of from.
func (p phases) mayFollow(from, to phase) error {
	for _, next := range p[from] {
		if next == to {
			return nil
		}
	}
	return fmt.Errorf("a driver cannot move from %s to %s", from, to)
}

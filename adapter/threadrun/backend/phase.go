package backend

import "fmt"

// phase is where a drive stands.
type phase int

const (
	locating   phase = iota // which graph is called, or which agent of a plain server
	pickingUp               // what an earlier call of Run began is looked for
	preparing               // an upstream thread is to hold what ours holds
	making                  // the thread is made by itself: the run's request should have made it, and did not
	replacing               // a fresh thread is made for one that the server has lost
	starting                // the run's request is sent
	continuing              // the request for the run's next step is sent
	reading                 // frames of an open stream
	rejoining               // the stream is opened again, after the last frame that was read
	asking                  // how the run stands, when its stream has closed
	searching               // a run is looked for whose request came to no answer
	waiting                 // for the result of a run
	failing                 // what is left by a run that ended in error
	ended                   // the end was told
)

var phaseNames = [...]string{"locating", "picking up", "preparing", "making", "replacing", "starting", "continuing", "reading",
	"rejoining", "asking", "searching", "waiting", "failing", "ended"}

func (p phase) String() string { return phaseNames[p] }

// phases says which phases may follow each. An error ends a drive in any of them.
type phases map[phase][]phase

// graphPhases are those of a run on a LangGraph server. The searches for its runs are part of the phases that need
// them. A phase that leads back to starting does so only where the server has not taken the request.
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

// plainPhases are those of a run on a server that has only the routes of the Agent Protocol. Its streams are not gone
// back to.
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

// Package stepping hands out the steps of tasks, one POST at a time. The client of a task asks for a step and does not
// see that runs are behind it: the first POST starts one, a POST after a question answers it, and one with further
// words lets the task go on.
//
// Package service calls it, and the face of tasks through that. It knows no dialect and no HTTP, and executes no run.
//
// A StepLock is the right to one POST for a step of a task; POSTs of one task take turns. The work of the task so far
// stands in its session, a fold of the log that may be dropped at any time. The task is in one of six states:
//
//	state      | the task                              | leaves it
//	unstarted  | has no run                            | a run is found: running
//	running    | has a run that waits or goes on       | its question: asking; its end: asked, done or cancelled
//	asking     | has a run that asked and is not over  | another attempt: running; its end: asked, done or cancelled
//	asked      | has ended with a question             | a run is found: running
//	done       | has ended                             | a run is found: running
//	cancelled  | was cancelled                         | a run is found: running
//
// A run is found when a POST makes it, and when another process or the other face did. In the code the table is
// transitions. A POST whose step is not there yet does what the state asks for:
//
//	unstarted  | starts the task's first run
//	running    | waits for the thread, then for the step; in lockstep it asks the agent for it
//	asking     | waits for the end, so that the other face can answer, too
//	asked      | answers with the client's words, or the default answer
//	done       | makes a follow-up of the client's words; without words, the last step again
//	cancelled  | the last step again
//
// Start reading at Stepper.Step, and at progress.advance for the second table.
//
// Which step is the last is decided by rule.StepFolder. Here it is taken back, when a follow-up run comes
// (takeBackLast), or confirmed against other processes (handOuts.reserve).
//
// A step is counted and flushed before the first byte of its answer leaves (Tasks.HandOut), and the count is taken back
// where the answer could not be written (Handout.Release without Confirm). The other order would hand a step out twice
// after a death in between, and lose the words of the client's next POST. This order has a gap, too: a death between
// commit and write leaves a client without Idempotency-Key one step short, which is in the list of steps. The turn is
// given back by Confirm or Release, never by the request's context, which clients end as soon as they have read the
// answer.
package stepping

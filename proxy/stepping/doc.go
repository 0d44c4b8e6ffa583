// Package stepping hands out the steps of tasks, one POST at a time. The client of a task requests steps and sees no
// runs: the first POST starts a run, a POST after a question answers it, and a POST with more input continues the task.
//
// Package service uses it for the face of tasks. It does not depend on dialects or HTTP and executes no runs.
//
// A StepLock is the right to serve one POST of a task. The task's steps are in its session, a fold of the log that may
// be dropped at any time. The task is in one of six states:
//
//	state      | the task                              | next state
//	unstarted  | has no run                            | a run is found: running
//	running    | has a run that is queued or runs      | its question: asking; its end: asked, done or cancelled
//	asking     | has a run that asked, not yet ended   | another attempt: running; its end: asked, done or cancelled
//	asked      | has ended with a question             | a run is found: running
//	done       | has ended                             | a run is found: running
//	cancelled  | was cancelled                         | a run is found: running
//
// A run is found if a POST, another process or the other face created it. In the code the table is transitions. A POST
// whose step is not available yet takes one of these actions (advance):
//
//	unstarted  | starts the task's first run
//	running    | waits for the thread, then for the step; in lockstep it requests the step from the agent
//	asking     | waits for the end, so that the other face can answer, too
//	asked      | answers with the client's input, or the default answer
//	done       | starts a follow-up run of the client's input; without input, returns the last step again
//	cancelled  | returns the last step again
//
// Start reading at Stepper.Step. It acquires the lock, claims the next step (claimStep, advance) and delivers it.
//
// rule.StepFolder decides which step is the last. This package reverses that if there is a follow-up run
// (takeBackLast), and checks it against the work of other processes (reserve).
//
// A step is counted and flushed before the first byte of its response is sent (Tasks.HandOut). The count is undone if
// the response could not be written (Handout.Release without Confirm). In the other order, a process that dies in
// between would hand out a step twice and lose the input of the client's next POST. This order has a gap, too: if the
// process dies between commit and write, a client without Idempotency-Key misses a step, which is still in the list of
// steps. The lock is released by Confirm or Release and never by the request's context, which clients end as soon as
// they have read the response.
package stepping

// Package mapping defines the types of the neutral model. Dialects are translated to and from them:
//
//	model                      threads/runs            tasks/steps (v1)
//	Thread                     thread                  the task's own thread, or topic
//	Task                       a run and its resumes   task
//	Run                        run                     one life of a task
//	Event: update              stream chunk            step
//	Event: interrupt           interrupt               a step that asks
//	Checkpoint                 state, history          –
//	Artifact                   values.files            artifact
//	Item                       store item              –
//
// Package state folds events into states, package rule has the rules of the table, and package rawjson handles JSON.
// The whole program uses them. They do no I/O and do not read the clock except for new ids. Start reading at Event.
package mapping

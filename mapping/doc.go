// Package mapping is the neutral model between the agent-protocol dialects: its nouns. What one dialect says is said in
// them, and from them in another:
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
// Package state folds events to states, package rule has the rules of the table, package rawjson carries JSON.
// Everything else in the program calls them. They do no I/O and read no clock but for new ids. Start reading at Event.
package mapping

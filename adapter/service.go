package adapter

// Service serves the faces. Every method is safe for concurrent use, is scoped by the principal in ctx, and returns
// *mapping.Error for errors that the caller is meant to see. Package proxy/service implements it.
type Service interface {
	Threads
	States
	Runs
	Tasks
	Topics
	Items
	Assistants
	Crons
	Owners
}

package adapter

// Service answers the faces. Every method may be called concurrently, is scoped by the principal in ctx, and returns
// *mapping.Error for what the caller is meant to see. Package proxy/service implements it.
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

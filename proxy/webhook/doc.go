// Package webhook delivers what hooks are told from the outbox that ends of runs and changes of tasks are written to. The
// bridge runs its Sender; the service checks targets with it. It makes no run and reads no log, and nothing of it ever
// holds up a run.
//
// A delivery is a POST that a dialect has written (adapter.Dialect.Hook, called by the engine): the run's result for the
// webhook of a run, a change of status for a hook of a task. What a hook is told comes in order, one after the other. It is made at least once: when an answer is lost it is made again, under the same
// X-Apbridge-Delivery, by which receivers tell. Start reading at Sender.Run. Which targets are refused stands in
// CheckTarget.
package webhook

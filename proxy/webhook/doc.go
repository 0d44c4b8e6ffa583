// Package webhook delivers completion hooks from the outbox that the ends of runs are written to. The bridge runs its
// Sender; the service checks targets with it. It makes no run and reads no log, and nothing of it ever holds up a run.
//
// A delivery is a POST of the run's result, whose body the run's dialect has written (adapter.Dialect.Webhook, called
// by the engine). It is made at least once: when an answer is lost it is made again, under the same
// X-Apbridge-Delivery, by which receivers tell. Start reading at Sender.Run. Which targets are refused stands in
// CheckTarget.
package webhook

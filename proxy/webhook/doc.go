// Package webhook delivers completion hooks from the outbox that runs' ends are
// written to.
//
// A delivery is a POST of the run's result, whose body the run's dialect has written
// (adapter.Dialect.Webhook, called by the engine). It is made at least once: when an
// answer is lost it is made again, under the same X-Apbridge-Delivery, by which
// receivers tell. Nothing of it ever holds up a run. Start reading at
// Sender.Run. Which targets are refused stands in CheckTarget.
package webhook

// Package webhook delivers the notifications in the outbox, which is filled when runs end and when tasks change their
// status. The bridge runs its Sender, and the service checks targets with CheckTarget and CheckHook. It never delays
// runs.
//
// A delivery is a POST whose content comes from a dialect (adapter.Dialect.Hook, called by the engine): a run's result
// for the webhook of a run, or a change of status for a hook of a task. Deliveries to a hook are made in order, one at
// a time. Each is made at least once. If the response is lost, the delivery is repeated with the same
// X-Apbridge-Delivery, by which receivers recognize it. Start reading at Sender.Run. CheckTarget lists the targets that
// are refused.
package webhook

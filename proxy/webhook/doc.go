// Package webhook delivers completion hooks from the outbox, to which the ends of runs are written. The bridge runs its
// Sender, and the service checks targets with it. It creates no run and reads no log, and it never delays a run.
//
// A delivery is a POST of the run's result, whose body the run's dialect has written (adapter.Dialect.Webhook, called
// by the engine). It is delivered at least once: if an answer is lost it is sent again, with the same
// X-Apbridge-Delivery, by which receivers recognise it. Start reading at Sender.Run. CheckTarget has the rules for
// targets.
package webhook

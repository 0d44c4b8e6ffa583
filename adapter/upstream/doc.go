// Package upstream calls agents over HTTP for the backends of all dialects and for passthrough. It provides the
// transport, limits, safe retries, the classification of failed calls, error texts without secrets, and metrics.
// Nothing else imports it. The backend of a dialect interprets a status for its run. This package never retries a run.
// Start reading at Client.Do.
//
// A call is attempted at most three times. It is retried if the agent was not reached, or if a graph server requested a
// retry (429, or 503 with Retry-After). A call that changes nothing is also retried if its response broke off. Type
// once prevents net/http from writing a changing call twice. There is no circuit breaker, because it would refuse runs
// even after the agent has recovered.
package upstream

// Package upstream calls agents over HTTP for the backends of all dialects and for passthrough. It provides the
// transport, limits, retries of calls that certainly did nothing, the possible effects of a failed call, the text for
// an error response, the removal of secrets, and the metrics of calls. Nothing else imports it. The backend of a
// dialect decides what a status means for a run; this package never retries a run. Start reading at Client.Do.
//
// A single call is attempted at most three times: again if the agent was not reached, or if a graph's server requested
// a retry (429, or 503 with Retry-After). A call that changes nothing is also retried if its response broke off.
// net/http is prevented from writing a changing call twice (once). There is no circuit breaker, because it would refuse
// runs to an agent that works again.
package upstream

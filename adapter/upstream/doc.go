// Package upstream calls agents over HTTP for the backends of all dialects and for passthrough: transport, limits,
// retries of calls that certainly did nothing, what a failed call may have done, the words of a refusal, secrets, and
// the metrics of calls. Nothing else imports it. What a status means for a run is for the backend of its dialect, and
// it never retries a run.
//
// A single call is made three times at the most: again where the agent was not reached, or where a graph's server said
// to come later (429, or 503 with Retry-After). A question is also asked again when its answer broke off. net/http is
// kept from writing twice what may change something (once). There is no circuit breaker: it would refuse runs to an
// agent that is back.
package upstream

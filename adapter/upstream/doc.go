// Package upstream calls agents over HTTP for the backends of all dialects: transport,
// limits, retries of what certainly did nothing, what a failed call may have done, secrets,
// and the metrics of calls. What a status means to a dialect is for its backend.
package upstream

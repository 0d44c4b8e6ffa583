// Package trace makes OpenTelemetry spans of what the bridge does, and sends them to a collector by
// OTLP over HTTP. The environment says whether and how, by the variables that OpenTelemetry has
// specified (Read).
//
// Where a span stands in its trace is told by mapping.Trace, which contexts and runs carry anyway: so a
// run that is executed later, after a restart or by another process, is still below the request that
// asked for it. Nothing of a span names what was said: no body, no header, no query.
package trace

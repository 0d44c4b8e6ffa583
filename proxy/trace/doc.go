// Package trace makes OpenTelemetry spans of requests, runs and calls, and sends them to a collector by OTLP over HTTP,
// where the environment names one (docs/tracing.md). Package proxy, the service, the engine, passthrough and webhook
// make spans with it. Elsewhere the tracer is nil and costs nothing. No span names what was said: no body, no header,
// no query.
//
// The place of a span is told by mapping.Trace, the headers of W3C Trace Context, and by nothing else. The span of a
// request takes the client's place in the context, so RunOptions.Trace of a run names it: a run that is executed later,
// after a restart or by another process, is still below the request that asked for it.
//
// The id of a run's span follows from the run's (mapping.RunSpan). So no column is needed to link a resumed run to the
// one that asked (RunOptions.Resumes) or a webhook to its run, and spans that a process sent before it died find their
// parent. One span tells the whole run: a process that hands a run over does not end the span, and the one that takes
// it up counts from when the run was asked for.
//
// The SDK's batcher posts ended spans, one batch after the other. A span that meets a full queue is dropped: no work
// ever waits for it. The bridge closes it last, when the sender of webhooks has returned.
//
// The SDK and the form of the spans (otlptrace) are OpenTelemetry's; the posting (uploads) is ours. otlptracehttp
// brings gRPC into the program, 2 MB of code that would never run, and tells its failures to a handler that is global.
// The SDK's readers of the environment ignore what they cannot read, so Read reads the variables and refuses it.
package trace

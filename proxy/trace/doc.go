// Package trace creates OpenTelemetry spans of requests, runs and calls, and sends them to a collector by OTLP over
// HTTP, if the environment names one (docs/tracing.md). Package proxy, the service, the engine, passthrough and webhook
// create spans with it. Without a collector the tracer is nil and costs nothing. Spans contain no bodies, headers or
// queries. Start reading at Read and Tracer.
//
// The position of a span is passed on only as mapping.Trace, the headers of W3C Trace Context. The span of a request
// replaces the client's position in the context, so a run's RunOptions.Trace names it. A run that is executed later,
// after a restart or by another process, is still a child of the request that created it.
//
// The id of a run's span is derived from the run's (mapping.RunSpan). So no column is needed to link a resumed run to
// the one that asked (RunOptions.Resumes) or a webhook to its run, and spans that a process sent before it died find
// their parent. A run has one span: a process that hands a run over does not end the span, and the one that continues
// the run starts it at the time of the request.
//
// The SDK's batcher sends ended spans, one batch at a time. If its queue is full, spans are dropped, so no work ever
// waits for it. The bridge closes it last, when the sender of webhooks has returned.
//
// The SDK and the encoding of the spans (otlptrace) are OpenTelemetry's; the requests (uploads) are ours. otlptracehttp
// would add gRPC to the program, 2 MB of unused code, and it reports failures to a global handler. The SDK ignores
// invalid environment variables, so Read reads them and refuses invalid ones.
package trace

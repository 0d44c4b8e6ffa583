package trace

import (
	"crypto/tls"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Settings are the environment's settings of traces.
type Settings struct {
	endpoint *url.URL // for batches
	headers  map[string]string
	timeout  time.Duration // for a batch, including retries
	gzip     bool
	secure   *tls.Config // nil means the default

	resource []attribute.KeyValue
	sampler  sdk.Sampler
	batch    []sdk.BatchSpanProcessorOption
	limits   sdk.SpanLimits
	baggage  bool

	unread []string
}

// Unread returns the variables of OpenTelemetry that are set and that the bridge does not use, such as those of metrics
// and logs.
func (s *Settings) Unread() []string { return s.unread }

// Endpoint returns the URL of the collector, without potential secrets.
func (s *Settings) Endpoint() string {
	return s.endpoint.Scheme + "://" + s.endpoint.Host + s.endpoint.Path
}

// Read reads the variables specified by OpenTelemetry ("Environment Variable Specification", and "OpenTelemetry
// Protocol Exporter" for those of OTLP) from an environment of NAME=VALUE. An empty value counts as unset. It returns
// nil if tracing is not enabled, without reading further variables.
//
// It returns an error for invalid values, which the specification ignores with a warning. The error is
// config.Problems and lists all of them.
func Read(environ []string) (*Settings, error) {
	v := newVariables(environ)
	switch {
	case v.yes("OTEL_SDK_DISABLED"), v.get("OTEL_TRACES_EXPORTER") == "none", !v.asked():
		return nil, v.err()
	}
	s := &Settings{}
	v.exporter(s)
	v.connection(s)
	v.identity(s)
	v.sampling(s)
	v.batches(s)
	v.spanLimits(s)
	v.propagators(s)
	s.unread = v.unread()
	if err := v.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// asked reports whether the environment enables traces, with an endpoint or an exporter.
func (v *variables) asked() bool {
	return v.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || v.get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || v.get("OTEL_TRACES_EXPORTER") != ""
}

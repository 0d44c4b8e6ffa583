package trace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/trace"
)

const somewhere = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"

// TestTracingIsOffByDefault checks that nothing is sent by default, and that unused variables may be invalid.
func TestTracingIsOffByDefault(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{
		nil,
		{"OTEL_EXPORTER_OTLP_ENDPOINT="},
		{"OTEL_SERVICE_NAME=x", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		{somewhere, "OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		{somewhere, "OTEL_TRACES_EXPORTER=none"},
	} {
		if s, err := trace.Read(environ); s != nil || err != nil {
			t.Errorf("%q: %v, %v", environ, s, err)
		}
	}
}

// TestEndpoints checks that the general variable is extended by the path for traces, and that the specific one is used
// verbatim.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for want, environ := range map[string][]string{
		"http://collector:4318/v1/traces":  {somewhere},
		"https://c.example/otlp/v1/traces": {"OTEL_EXPORTER_OTLP_ENDPOINT=https://user:word@c.example/otlp/?token=x"},
		"http://own:1/":                    {somewhere, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://own:1"},
		"http://own:1/there":               {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://own:1/there"},
		"http://localhost:4318/v1/traces":  {"OTEL_TRACES_EXPORTER=otlp"},
	} {
		if s, err := trace.Read(environ); err != nil || s.Endpoint() != want {
			t.Errorf("%q: %v, %v", environ, s, err)
		}
	}
}

// TestUnsupportedSettingsAreRefused checks that all invalid variables are reported together, with advice.
func TestUnsupportedSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for variable, says := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                      "only by http/protobuf",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json":          `"http/json" is not supported`,
		"OTEL_TRACES_EXPORTER=zipkin":                           "otlp, none",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector:4317":     "http:// or https://",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                        "not an integer",
		"OTEL_EXPORTER_OTLP_COMPRESSION=zstd":                   "none, gzip",
		"OTEL_EXPORTER_OTLP_HEADERS=key":                        "NAME=VALUE",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=a b=c":               "a valid header name",
		"OTEL_EXPORTER_OTLP_INSECURE=false":                     "contradicts it",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/there/is/no/such/file": "no such file",
		"OTEL_EXPORTER_OTLP_CLIENT_KEY=/key":                    "also needs OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
		"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE=/cert":    "also needs OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
		"OTEL_CONFIG_FILE=otel.yaml":                            "does not read",
		"OTEL_RESOURCE_ATTRIBUTES=a=%zz":                        "NAME=VALUE",
		"OTEL_TRACES_SAMPLER=jaeger_remote":                     "always_on",
		"OTEL_TRACES_SAMPLER_ARG=0.5":                           "takes no argument",
		"OTEL_BSP_SCHEDULE_DELAY=0":                             "at least 1",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=5000":                   "exceeds the size of the queue",
		"OTEL_SPAN_EVENT_COUNT_LIMIT=-1":                        "at least 0",
		"OTEL_PROPAGATORS=b3":                                   `"b3" is not supported`,
		"OTEL_PROPAGATORS=baggage":                              "must include tracecontext",
		"OTEL_SDK_DISABLED=yes":                                 "neither true nor false",
	} {
		_, err := trace.Read([]string{somewhere, variable, "OTEL_BSP_EXPORT_TIMEOUT=never"})
		name, _, _ := strings.Cut(variable, "=")
		var all config.Problems
		if !errors.As(err, &all) || !strings.Contains(err.Error(), "environment "+name+": ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", variable, err)
		} else if !strings.Contains(err.Error(), "OTEL_BSP_EXPORT_TIMEOUT") {
			t.Errorf("%s: the other problem is missing: %v", variable, err)
		}
	}
	_, err := trace.Read([]string{somewhere, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=NaN"})
	if err == nil || !strings.Contains(err.Error(), "from 0 to 1") {
		t.Errorf("an invalid ratio: %v", err)
	}
	_, err = trace.Read([]string{somewhere, "OTEL_EXPORTER_OTLP_HEADERS=authorization=secret%zz"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an unreadable header: %v", err)
	}
}

// TestUnusedVariablesAreListed covers variables of metrics and logs, which may be set for every program of a machine.
func TestUnusedVariablesAreListed(t *testing.T) {
	t.Parallel()
	s, err := trace.Read([]string{somewhere, "OTEL_METRICS_EXPORTER=otlp", "OTEL_LOG_LEVEL=debug", "OTEL_LOGS_EXPORTER=none", "OTEL_TRACES_SAMPLER=always_on"})
	if err != nil || strings.Join(s.Unread(), " ") != "OTEL_LOG_LEVEL OTEL_METRICS_EXPORTER" {
		t.Errorf("%v, %v", s, err)
	}
}

package rig

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/proxy/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// Collector receives spans by OTLP over HTTP. It is safe for concurrent use.
type Collector struct {
	URL string

	mu       sync.Mutex
	spans    []Span
	resource map[string]string // of the newest batch
	header   http.Header       // of the newest batch
}

// Span is a received span, with its attributes as text.
type Span struct {
	*tracepb.Span
	Has map[string]string
}

// NewCollector starts a Collector that serves until the test ends.
func NewCollector(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{}
	c.URL = adaptertest.Serve(t, c).URL
	return c
}

// ServeHTTP accepts traces and nothing else.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var batch tracepb.TracesData
	raw, err := plain(r)
	if err == nil {
		err = proto.Unmarshal(raw, &batch)
	}
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.take(&batch, r.Header)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func plain(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}

func (c *Collector) take(batch *tracepb.TracesData, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = header
	for _, of := range batch.GetResourceSpans() {
		c.resource = texts(of.GetResource().GetAttributes())
		for _, by := range of.GetScopeSpans() {
			for _, s := range by.GetSpans() {
				c.spans = append(c.spans, Span{s, texts(s.GetAttributes())})
			}
		}
	}
}

func texts(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			all[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		}
	}
	return all
}

// Spans returns the received spans for which wanted returns true, or all for nil.
func (c *Collector) Spans(wanted func(Span) bool) (list []Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if wanted == nil || wanted(s) {
			list = append(list, s)
		}
	}
	return list
}

// Of returns the resource of the newest batch, and its header.
func (c *Collector) Of() (resource map[string]string, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource, c.header
}

// Await waits for the first span with a name and returns it. about is a value of one of its attributes; "" means any.
func (c *Collector) Await(t *testing.T, name, about string) (found Span) {
	t.Helper()
	Eventually(t, "a span "+name+" of "+about, func() bool {
		list := c.Spans(func(s Span) bool { return s.GetName() == name && (about == "" || s.says(about)) })
		if len(list) > 0 {
			found = list[0]
		}
		return len(list) > 0
	})
	return found
}

func (s Span) says(value string) bool {
	for _, v := range s.Has {
		if v == value {
			return true
		}
	}
	return false
}

// Trace, ID and Parent return ids in the form of traceparent.
func (s Span) Trace() string  { return hex.EncodeToString(s.GetTraceId()) }
func (s Span) ID() string     { return hex.EncodeToString(s.GetSpanId()) }
func (s Span) Parent() string { return hex.EncodeToString(s.GetParentSpanId()) }

// TraceParent returns the header of a call below the span.
func (s Span) TraceParent() string { return "00-" + s.Trace() + "-" + s.ID() + "-01" }

// Happened reports whether the span has an event with a name.
func (s Span) Happened(name string) bool {
	return slices.ContainsFunc(s.GetEvents(), func(e *tracepb.Span_Event) bool { return e.GetName() == name })
}

// Links returns the traces and spans of the span's links.
func (s Span) Links() (list []string) {
	for _, l := range s.GetLinks() {
		list = append(list, hex.EncodeToString(l.GetTraceId())+"-"+hex.EncodeToString(l.GetSpanId()))
	}
	return list
}

// StartTraced starts a bridge that sends its spans to the collector without delay. more are further variables of its
// environment.
func StartTraced(t *testing.T, cfg *config.Config, c *Collector, log *zap.Logger, more ...string) *Bridge {
	t.Helper()
	traces, err := trace.Read(append([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=5"}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return start(t, cfg, bridge.Dialects(), traces, log)
}

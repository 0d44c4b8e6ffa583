package trace

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// identity reads the resource of the spans. The service's own variable takes precedence over the attribute.
func (v *variables) identity(s *Settings) {
	v.pairs("OTEL_RESOURCE_ATTRIBUTES", v.get("OTEL_RESOURCE_ATTRIBUTES"), func(key, value string) {
		s.resource = append(s.resource, attribute.String(key, value))
	})
	if name := v.get("OTEL_SERVICE_NAME"); name != "" {
		s.resource = append(s.resource, attribute.String("service.name", name))
	}
}

// usualSampler samples the traces that the client samples, and all that begin here.
const usualSampler = "parentbased_always_on"

func (v *variables) sampling(s *Settings) {
	const name, argName = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	text, arg := cmp.Or(v.get(name), usualSampler), v.get(argName)
	kind, parentBased := strings.CutPrefix(text, "parentbased_")
	switch kind {
	case "always_on":
		s.sampler = sdk.AlwaysSample()
	case "always_off":
		s.sampler = sdk.NeverSample()
	case "traceidratio":
		s.sampler = sdk.TraceIDRatioBased(v.ratio(argName, arg))
		arg = ""
	default:
		v.problem(name, "%q is not supported by this bridge. It supports always_on, always_off and traceidratio, each also with parentbased_ before it", text)
		return
	}
	if arg != "" {
		v.problem(argName, "the sampler %s takes no argument. Unset it, or set %s to %s", text, name, "parentbased_traceidratio")
	}
	if parentBased {
		s.sampler = sdk.ParentBased(s.sampler)
	}
}

func (v *variables) ratio(name, value string) float64 {
	r, err := strconv.ParseFloat(cmp.Or(value, "1"), 64)
	if err != nil || !(r >= 0 && r <= 1) {
		v.problem(name, "%q is not a number from 0 to 1", value)
		return 1
	}
	return r
}

// batches reads the limits of the spans that wait, and the time for which they wait. Spans are dropped while the queue
// is full.
func (v *variables) batches(s *Settings) {
	const delay, timeout, queue, batch = "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
	most := v.number(queue, v.get(queue), sdk.DefaultMaxQueueSize, 1)
	once := v.number(batch, v.get(batch), min(most, sdk.DefaultMaxExportBatchSize), 1)
	if once > most {
		v.problem(batch, "%d exceeds the size of the queue (%s: %d)", once, queue, most)
	}
	s.batch = []sdk.BatchSpanProcessorOption{
		sdk.WithBatchTimeout(v.milliseconds(delay, v.get(delay), sdk.DefaultScheduleDelay*time.Millisecond)),
		sdk.WithExportTimeout(v.milliseconds(timeout, v.get(timeout), sdk.DefaultExportTimeout*time.Millisecond)),
		sdk.WithMaxQueueSize(most), sdk.WithMaxExportBatchSize(once),
	}
}

// spanLimits reads the limits of a span. Those of spans take precedence over the general ones.
func (v *variables) spanLimits(s *Settings) {
	limit := func(usual int, names ...string) int {
		for _, name := range names {
			usual = v.number(name, v.get(name), usual, 0)
		}
		return usual
	}
	s.limits = sdk.SpanLimits{
		AttributeValueLengthLimit:   limit(sdk.DefaultAttributeValueLengthLimit, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
		AttributeCountLimit:         limit(sdk.DefaultAttributeCountLimit, "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
		EventCountLimit:             limit(sdk.DefaultEventCountLimit, "OTEL_SPAN_EVENT_COUNT_LIMIT"),
		LinkCountLimit:              limit(sdk.DefaultLinkCountLimit, "OTEL_SPAN_LINK_COUNT_LIMIT"),
		AttributePerEventCountLimit: limit(sdk.DefaultAttributePerEventCountLimit, "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT"),
		AttributePerLinkCountLimit:  limit(sdk.DefaultAttributePerLinkCountLimit, "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT"),
	}
}

// propagators reads the headers that are passed on to agents. Baggage is meant for a client's own programs. An agent
// may not be one of them, so baggage is passed on only if the variable names it.
func (v *variables) propagators(s *Settings) {
	const name = "OTEL_PROPAGATORS"
	text := cmp.Or(v.get(name), "tracecontext")
	traces := false
	for kind := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(kind) {
		case "tracecontext":
			traces = true
		case "baggage":
			s.baggage = true
		default:
			v.problem(name, "%q is not supported by this bridge. It supports tracecontext and baggage", strings.TrimSpace(kind))
		}
	}
	if !traces {
		v.problem(name, "must include tracecontext, which passes the trace on to agents")
	}
}

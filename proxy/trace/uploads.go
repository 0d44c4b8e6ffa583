package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/mapping/pause"
	"github.com/apbridge/apbridge/proxy/logthrottle"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	dialTimeout = 5 * time.Second
	// The pause after the first failed attempt, which then doubles, and the maximum pause.
	firstPause = 250 * time.Millisecond
	mostPause  = 5 * time.Second
	mostAnswer = 64 << 10 // maximum bytes of an answer that are read
)

// uploads sends batches of spans (OpenTelemetry Protocol Specification, "OTLP/HTTP"). It implements otlptrace.Client. A
// batch that fails is lost, because a slow collector must not delay the program. That is logged at most once a minute.
//
// It replaces otlptracehttp, which adds gRPC to the program.
type uploads struct {
	settings *Settings
	agent    string
	client   *http.Client
	log      *zap.Logger
	said     logthrottle.Limiter // log lines about lost batches, which are sent one at a time
	refused  logthrottle.Limiter // log lines about spans that the collector rejected

	alive   context.Context // ends with cut
	cut     context.CancelFunc
	closing atomic.Bool // batches are only tried once
	failing atomic.Bool // the newest batch was lost
}

func newUploads(s *Settings, version string, log *zap.Logger) *uploads {
	u := &uploads{settings: s, agent: "apbridge/" + version, log: log}
	u.alive, u.cut = context.WithCancel(context.Background())
	u.client = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout,
			TLSClientConfig: s.secure, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: mostAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return u
}

// Start implements otlptrace.Client.
func (*uploads) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (u *uploads) Stop(context.Context) error {
	u.client.CloseIdleConnections()
	return nil
}

// last limits each batch to one try from now on, and reports whether the newest failed.
func (u *uploads) last() (failing bool) {
	u.closing.Store(true)
	return u.failing.Load()
}

// UploadTraces sends a batch, with useful retries until the timeout. It returns no error, since no caller could handle
// one.
func (u *uploads) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, stop := context.WithTimeout(ctx, u.settings.timeout)
	defer stop()
	defer context.AfterFunc(u.alive, stop)()
	err := u.upload(ctx, spans)
	u.failing.Store(err != nil)
	if err == nil {
		u.said.Reset()
	} else if u.said.Allow() {
		u.log.Warn("spans could not be sent and are lost", zap.String("endpoint", u.settings.Endpoint()), zap.Int("spans", count(spans)), zap.Error(err), u.said.Suppressed())
	}
	return nil
}

func count(list []*tracepb.ResourceSpans) (n int) {
	for _, of := range list {
		for _, s := range of.GetScopeSpans() {
			n += len(s.GetSpans())
		}
	}
	return n
}

func (u *uploads) upload(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // the same bytes as ExportTraceServiceRequest
	if err == nil && u.settings.gzip {
		body, err = packed(body)
	}
	for try := 0; err == nil; try++ {
		failed := u.post(ctx, body)
		if failed == nil || u.closing.Load() || !failed.again {
			return failed.orNil()
		}
		if pause.For(ctx, max(failed.after, min(firstPause<<min(try, 10), mostPause))) != nil {
			return failed
		}
	}
	return err
}

func packed(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// failure is the error of one attempt.
type failure struct {
	error
	again bool          // a retry may help (OTLP specification, "Retryable Response Codes")
	after time.Duration // the collector's Retry-After
}

func (f *failure) orNil() error {
	if f == nil {
		return nil
	}
	return f
}

func (u *uploads) post(ctx context.Context, body []byte) *failure {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.settings.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return &failure{error: err}
	}
	req.Header.Set("User-Agent", u.agent)
	for name, value := range u.settings.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", protobuf)
	if u.settings.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := u.client.Do(req)
	if err != nil {
		return &failure{error: withoutURL(err), again: ctx.Err() == nil}
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return &failure{error: withoutURL(err), again: ctx.Err() == nil}
	}
	return u.judge(res, answer)
}

// withoutURL removes the URL, which may contain a token.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

const protobuf = "application/x-protobuf"

func (u *uploads) judge(res *http.Response, answer []byte) *failure {
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &failure{error: fmt.Errorf("it responds with %s", res.Status), again: true, after: pause.RetryAfter(res.Header.Get("Retry-After"))}
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode/100 != 2:
		return &failure{error: fmt.Errorf("it responds with %s; traces are posted there with OTLP over HTTP", res.Status)}
	case len(answer) == 0 || kind == "application/json":
		return nil
	case kind != protobuf && kind != "":
		return &failure{error: errors.New("it responds with " + strconv.Quote(kind) + ", unlike a collector: is this its port for OTLP over HTTP?")}
	}
	return u.partial(answer)
}

// partial reads an ExportTraceServiceResponse, whose only field describes the rejected spans.
func (u *uploads) partial(answer []byte) *failure {
	some, ok := field(answer, 1)
	if !ok {
		return &failure{error: errors.New("its response is not OTLP: is this its port for OTLP over HTTP?")}
	}
	why, _ := field(some, 2)
	if len(why) == 0 {
		u.refused.Reset()
	} else if u.refused.Allow() {
		u.log.Warn("collector did not accept all spans", zap.String("endpoint", u.settings.Endpoint()), zap.String("why", string(why[:min(len(why), 300)])), u.refused.Suppressed())
	}
	return nil
}

// field returns the last value of a field of bytes, or nil. It returns false for an invalid message.
func field(message []byte, number protowire.Number) (value []byte, ok bool) {
	for len(message) > 0 {
		n, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return nil, false
		}
		message = message[length:]
		if n == number && kind == protowire.BytesType {
			v, length := protowire.ConsumeBytes(message)
			if length < 0 {
				return nil, false
			}
			value, message = v, message[length:]
			continue
		}
		if length = protowire.ConsumeFieldValue(n, kind, message); length < 0 {
			return nil, false
		}
		message = message[length:]
	}
	return value, true
}

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// Headers of a delivery.
const (
	headerDelivery  = "X-Apbridge-Delivery"  // the same for every attempt
	headerAttempt   = "X-Apbridge-Attempt"   // from 1
	headerSignature = "X-Apbridge-Signature" // if there is a secret, see Sign
)

// verdict is the result of an attempt. why is "" after a success. final means that another attempt is useless.
type verdict struct {
	why   string
	final bool
}

// attempt makes one attempt and stores its result. If the result cannot be stored, the delivery is repeated after the
// lease.
func (s *Sender) attempt(ctx context.Context, d store.Delivery) {
	v := s.post(ctx, d)
	note := context.WithoutCancel(ctx)
	var err error
	outcome := "delivered"
	switch {
	case v.why == "":
		err = s.deliveries.Delivered(note, d)
	case ctx.Err() != nil:
		outcome, err = "returned", s.deliveries.Returned(note, d)
	case v.final || d.Attempts >= tries:
		outcome, err = "dead", s.deliveries.Dead(note, d, v.why)
		s.log.Warn("webhook given up", zap.String("run", d.RunID), zap.String("host", hostOf(d.URL)), zap.Int("attempts", d.Attempts), zap.String("why", v.why))
	default:
		outcome, err = "failed", s.deliveries.Failed(note, d, v.why, s.backoff(d.Attempts))
	}
	s.metrics.WebhookTried(outcome)
	if outcome == "delivered" || outcome == "dead" {
		tellOf(note, d, v)
	}
	if err != nil {
		s.log.Error("result of a webhook could not be recorded", zap.String("run", d.RunID), zap.Error(err))
	}
}

// tellOf records a finished delivery in the audit log.
func tellOf(ctx context.Context, d store.Delivery, v verdict) {
	ctx, done := mapping.BeginAudited(mapping.WithPrincipal(ctx, mapping.Principal{Tenant: d.Tenant}), "webhook")
	mapping.SetAuditVerb(ctx, mapping.Notified)
	mapping.AddAuditObject(ctx, "run", d.RunID)
	var err error
	if v.why != "" {
		err = mapping.Errorf(mapping.Upstream, "webhook_given_up", "%s", v.why)
	}
	done(err)
}

// post sends the delivery once. It ignores the body of the response.
func (s *Sender) post(ctx context.Context, d store.Delivery) verdict {
	cfg := s.cfg.Load()
	if u, err := url.Parse(d.URL); err == nil && !cfg.MayCall(u.Hostname()) {
		return verdict{why: "this bridge does not call the host (webhooks.hosts)", final: true}
	}
	ctx, stop := context.WithTimeoutCause(ctx, attemptTimeout, errSlow)
	defer stop()
	req := s.client.R().SetContext(ctx).SetBody(d.Body).
		SetHeader("Content-Type", "application/json").SetHeaders(d.Header).
		SetHeader(headerDelivery, d.ID).
		SetHeader(headerAttempt, strconv.Itoa(d.Attempts))
	if signed := Sign(secretsOf(cfg), time.Now(), d.ID, d.Body); signed != "" {
		req.SetHeader(headerSignature, signed)
	}
	ctx, end := s.traced(ctx, d)
	s.tracer.Tell(ctx, req.Header)
	failpoint.Hit(failpoint.HookSent)
	res, err := req.SetContext(ctx).Post(d.URL)
	failpoint.Hit(failpoint.HookAnswered)
	if err != nil {
		end(0, "broken")
		return failure(ctx, err)
	}
	end(res.StatusCode(), "")
	_ = res.RawBody().Close()
	return judge(res.StatusCode())
}

var errSlow = fmt.Errorf("did not answer within %s", attemptTimeout)

func judge(status int) verdict {
	switch {
	case status >= 200 && status < 300:
		return verdict{}
	case status >= 300 && status < 400:
		return verdict{why: fmt.Sprintf("HTTP %d: redirects are not followed", status)}
	case status == http.StatusGone:
		return verdict{why: "HTTP 410: the receiver is gone", final: true}
	default:
		return verdict{why: "HTTP " + strconv.Itoa(status)}
	}
}

// failure describes an error without the URL, which may contain a token.
func failure(ctx context.Context, err error) verdict {
	if errors.Is(err, errPrivate) {
		return verdict{why: errPrivate.Error(), final: true}
	}
	if cause := context.Cause(ctx); errors.Is(cause, errSlow) {
		return verdict{why: errSlow.Error()}
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	why := err.Error()
	return verdict{why: why[:min(len(why), 300)]}
}

// hostOf returns the host for which attempts are counted.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/mapping/failpoint"
	"github.com/apbridge/apbridge/proxy/store"
	"go.uber.org/zap"
)

// Headers of a delivery.
const (
	headerDelivery  = "X-Apbridge-Delivery"  // the same at every attempt
	headerAttempt   = "X-Apbridge-Attempt"   // from 1
	headerSignature = "X-Apbridge-Signature" // with a secret: see Sign
)

// Sign is the value of X-Apbridge-Signature: "t=SECONDS,v1=HEX,v2=HEX", the HMAC-SHA256
// under secret of SECONDS, a dot and the body, and of SECONDS, a dot, the delivery, a dot
// and the body. A receiver computes the same, and refuses times long past, so that nobody
// can send it again later; with v2, nor under the name of another delivery before that.
func Sign(secret string, at time.Time, delivery string, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	sum := func(before string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(before))
		mac.Write(body)
		return hex.EncodeToString(mac.Sum(nil))
	}
	return "t=" + seconds + ",v1=" + sum(seconds+".") + ",v2=" + sum(seconds+"."+delivery+".")
}

// verdict is what came of an attempt: why is "" after a success; final says that
// a further attempt is of no use.
type verdict struct {
	why   string
	final bool
}

// attempt makes one attempt and notes what came of it. What cannot be noted is
// tried again once the lease is over.
func (s *Sender) attempt(ctx context.Context, d store.Delivery) {
	v := s.post(ctx, d)
	note := context.WithoutCancel(ctx)
	var err error
	outcome := "delivered"
	switch {
	case v.why == "":
		err = s.st.Delivered(note, d)
	case ctx.Err() != nil:
		outcome, err = "returned", s.st.DeliveryReturned(note, d)
	case v.final || d.Attempts >= tries:
		outcome, err = "dead", s.st.DeliveryDead(note, d, v.why)
		s.log.Warn("a webhook is given up", zap.String("run", d.RunID), zap.String("host", hostOf(d.URL)), zap.Int("attempts", d.Attempts), zap.String("why", v.why))
	default:
		outcome, err = "failed", s.st.DeliveryFailed(note, d, v.why, s.backoff(d.Attempts))
	}
	s.metrics.WebhookTried(outcome)
	if err != nil {
		s.log.Error("what came of a webhook could not be noted", zap.String("run", d.RunID), zap.Error(err))
	}
}

// post sends the delivery once. The answer's body is not looked at.
func (s *Sender) post(ctx context.Context, d store.Delivery) verdict {
	ctx, stop := context.WithTimeoutCause(ctx, attemptTimeout, errSlow)
	defer stop()
	req := s.client.R().SetContext(ctx).SetBody(d.Body).
		SetHeader("Content-Type", "application/json").
		SetHeader(headerDelivery, d.ID).
		SetHeader(headerAttempt, strconv.Itoa(d.Attempts))
	if s.secret != "" {
		req.SetHeader(headerSignature, Sign(s.secret, time.Now(), d.ID, d.Body))
	}
	failpoint.Hit(failpoint.HookSent)
	res, err := req.Post(d.URL)
	failpoint.Hit(failpoint.HookAnswered)
	if err != nil {
		return failure(ctx, err)
	}
	_ = res.RawBody().Close()
	return judge(res.StatusCode())
}

var errSlow = fmt.Errorf("no answer within %s", attemptTimeout)

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

// failure words an error without the URL, which may hold a token.
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

// hostOf is what attempts are counted by.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

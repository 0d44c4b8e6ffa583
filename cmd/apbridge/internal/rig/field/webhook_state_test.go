package field

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// TestExplainShowsWebhook checks that the client of a run can see the state of its webhook, but not the token in its
// URL.
func TestExplainShowsWebhook(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		want   string // state, attempts, error
	}{
		"delivered": {http.StatusOK, "delivered 1 <nil>"},
		"failing":   {http.StatusServiceUnavailable, "waiting 1 HTTP 503"},
		"gone":      {http.StatusGone, "given_up 1 HTTP 410: the receiver is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) }))
			t.Cleanup(hook.Close)
			cfg := rig.ConfigFor(t, rig.AgentsAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL))
			cfg.Webhooks.AllowPrivateNetworks = true
			b := rig.StartBridge(t, cfg)
			run := b.Begin(b.Thread(), `"webhook":"`+hook.URL+`/?token=canary",`)
			b.Get(run + "/join").OK()
			var got rig.Answer
			rig.Eventually(t, "the webhook is "+tt.want, func() bool {
				got = b.Get(run + "/explain").OK()
				return webhookOf(got) == tt.want
			})
			if waits := got.At("webhook.next_attempt_at") != nil; waits == (got.At("webhook.done_at") != nil) || strings.Contains(string(got.Body), "canary") {
				t.Errorf("explanation: %s", got.Body)
			}
		})
	}
}

func webhookOf(a rig.Answer) string {
	return fmt.Sprintf("%v %v %v", a.At("webhook.state"), a.At("webhook.attempts"), a.At("webhook.error"))
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
)

// TestA23_WebhookIsExplained: whoever made a run can see what has become of its
// webhook, and not the token in its URL.
func TestA23_WebhookIsExplained(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer int
		want   string // state, attempts, error
	}{
		"delivered": {http.StatusOK, "delivered 1 <nil>"},
		"failing":   {http.StatusServiceUnavailable, "waiting 1 HTTP 503"},
		"gone":      {http.StatusGone, "given_up 1 HTTP 410: the receiver is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.answer) }))
			t.Cleanup(hook.Close)
			cfg := configFor(t, agentsAt(adaptertest.Serve(t, adaptertest.NewStepAgent(adaptertest.Plain)).URL))
			cfg.Webhooks.AllowPrivateNetworks = true
			b := startBridge(t, cfg)
			run := b.begin(b.thread(), `"webhook":"`+hook.URL+`/?token=canary",`)
			b.get(run + "/join").ok()
			var got answer
			eventually(t, "the webhook is "+tt.want, func() bool {
				got = b.get(run + "/explain").ok()
				return webhookOf(got) == tt.want
			})
			if waits := got.at("webhook.next_attempt_at") != nil; waits == (got.at("webhook.done_at") != nil) || strings.Contains(string(got.body), "canary") {
				t.Errorf("explained by %s", got.body)
			}
		})
	}
}

func webhookOf(a answer) string {
	return fmt.Sprintf("%v %v %v", a.at("webhook.state"), a.at("webhook.attempts"), a.at("webhook.error"))
}

package upstream_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/upstream"
	"github.com/apbridge/apbridge/config"
)

const refusalKey = "canary-key-0123456789"

func refusing() *upstream.Client {
	up := adapter.Upstream{Name: "a", Config: config.Agent{URL: "http://127.0.0.1:1", Headers: map[string]config.Secret{"Authorization": "Bearer " + refusalKey}}}
	return upstream.New(up, upstream.Options{Root: up.Config.URL})
}

// The text for a status explains it and gives advice.
func TestRefusal(t *testing.T) {
	t.Parallel()
	c := refusing()
	for _, x := range []struct {
		status      int
		after, body string
		want        string
	}{
		{401, "", `{"detail":"key abc"}`, ": it does not accept the bridge's credentials. Check the headers of the agent in the configuration."},
		{407, "", "x", ": it does not accept the bridge's credentials. Check the headers of the agent in the configuration."},
		{302, "", "x", ": redirects are not followed. Configure the final url."},
		{413, "", "x", ": the request is too large for it. Shorten the input or set memory.history to last or none."},
		{429, "7", `{"error":"slow down"}`, ": it is overloaded: slow down (Retry-After: 7). Try again later or lower its concurrency."},
		{503, "", "", ": it is overloaded. Try again later or lower its concurrency."},
		{409, "", `{"message":null,"detail":"Thread is busy."}`, ": Thread is busy."},
		{422, "", `{"detail":[{"loc":["body"],"msg":"missing"}]}`, `: [{"loc":["body"],"msg":"missing"}].`},
		{400, "", `["no members"]`, `: ["no members"].`},
		{500, "", "<html><head><title>x</title></head><body><h1>Oh no</h1></body></html>", ": an HTML page, perhaps not from the agent: Oh no."},
		{500, "", "<html></html>", ": an HTML page, perhaps not from the agent."},
		{500, "", "5 < 6, and 7 > 6.", ": 5 < 6, and 7 > 6."},
		{500, "", " \n", "."},
		{500, "", "Traceback (most recent call last):\n" + strings.Repeat("  File \"a.py\", line 1, in f\n", 20) + "ValueError: no seed\n", ": ValueError: no seed."},
		{500, "3", "", " (Retry-After: 3)."},
	} {
		header := http.Header{}
		if x.after != "" {
			header.Set("Retry-After", x.after)
		}
		if got := c.Refusal(x.status, header, []byte(x.body)); got != x.want {
			t.Errorf("%d %s: %q, want %q", x.status, x.body, got, x.want)
		}
	}
}

// TestNoHalfSecretInAPage checks that a credential that looks like markup is hidden completely, even in an HTML page.
func TestNoHalfSecretInAPage(t *testing.T) {
	t.Parallel()
	const key = "canary<b>key"
	up := adapter.Upstream{Name: "a", Config: config.Agent{URL: "http://127.0.0.1:1", Headers: map[string]config.Secret{"X-Key": key}}}
	got := upstream.New(up, upstream.Options{Root: up.Config.URL}).Refusal(500, nil, []byte("<p>no "+key+" and no canary&lt;b&gt;key</p>"))
	if want := ": an HTML page, perhaps not from the agent: no [hidden] and no [hidden]."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoHalfSecretInARefusal checks that an error shows no part of the bridge's credentials, wherever they appear in
// the agent's text and wherever the text is truncated.
func TestNoHalfSecretInARefusal(t *testing.T) {
	t.Parallel()
	c := refusing()
	for n := range 400 {
		said := strings.Repeat("x", n) + " " + refusalKey + " and more"
		for _, body := range []string{said, `{"detail":"` + said + `"}`, "<p>" + said + "</p>"} {
			got := c.Refusal(500, http.Header{"Retry-After": {said}}, []byte(body))
			if strings.Contains(got, refusalKey[:3]) {
				t.Fatalf("with %d characters before the credential: %q", n, got)
			}
		}
	}
}

package passthrough_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/passthrough"
)

// sendRaw sends a request unchanged, because net/http normalises names.
func sendRaw(t *testing.T, address string, header ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /agents/legacy/upstream/x HTTP/1.1\r\nHost: bridge\r\nConnection: close\r\n%s\r\n\r\n", strings.Join(header, "\r\n"))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

// TestIdentityHeadersInAnySpelling checks that no spelling of an identity header reaches the agent (E7).
func TestIdentityHeadersInAnySpelling(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	srv := way(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Clone() }, func(c *config.Agent) {
		c.Headers = map[string]config.Secret{"X-Tenant": "acme", "X-Scope-OrgID": "1"}
	})
	address := strings.TrimPrefix(srv.URL, "http://")
	for _, name := range []string{
		"X-Tenant", "x-tenant", "X_Tenant", "x_tenant", "X.Tenant", "X-TENANT", "X_Scope_OrgID", "X-Scope_OrgID",
		"X-Api-Key", "x_api_key", "X_API_KEY", "Authorization", "Proxy_Authorization", "Cookie",
		"X-Forwarded-User", "X_Forwarded_User", "x-forwarded_user", "X-Forwarded-Email", "X-Forwarded-Groups", "X-Forwarded-Preferred-Username",
		"X-Forwarded-For", "X_Forwarded_For", "X-Forwarded-Prefix", "X-Forwarded-Client-Cert", "Forwarded", "X-Real-IP",
		"X-Remote-User", "X_Remote_User", "Remote-User", "REMOTE_USER", "X-Remote-Group", "X-Original-URL", "X_Original_URL", "X-Rewrite-URL",
		"X-Auth-Request-Email", "X-WebAuth-User", "X-HTTP-Method-Override",
		// Headers of Authentik, Vouch, Kong, APISIX, Envoy and custom gateways for the caller.
		"X-Authentik-Username", "X_authentik_groups", "X-Vouch-User", "X-Vouch-Idp-Claims-Email", "X-Consumer-Username", "X_Consumer_Custom_Id", "X-Credential-Identifier",
		"X-Anonymous-Consumer", "X-Userinfo", "X-Id-Token", "X-Access-Token", "X-User", "X-User-Id", "x_user_id", "X-User-Roles", "X-Username", "X-Email", "X-Groups", "X-Roles",
		"X-Auth-User", "X-Auth-Token", "X-Token-Subject", "X-Jwt-Payload", "X-Envoy-Original-Path", "X-Envoy-External-Address", "Api-Key",
	} {
		sendRaw(t, address, name+": forged", "X-Kept: yes", "X_Kept_Too: yes")
		got := <-seen
		for sent, values := range got {
			if strings.Contains(strings.Join(values, ","), "forged") {
				t.Errorf("%s arrives as %s: %q", name, sent, values)
			}
		}
		if got.Get("X-Tenant") != "acme" || got.Get("X-Scope-OrgID") != "1" || got.Get("X-Kept") != "yes" || len(got["X_kept_too"]) != 1 {
			t.Errorf("together with %s the agent receives %v", name, got)
		}
	}
}

// A browser treats an agent's page as one without an origin, which the bridge refuses, regardless of the agent's
// headers.
func TestPagesOfAgentsAreConfined(t *testing.T) {
	t.Parallel()
	srv := way(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html")
		for _, name := range []string{"X-Content-Type-Options", "Set-Cookie", "Service-Worker-Allowed", "NEL", "Report-To", "Reporting-Endpoints", "Clear-Site-Data", "Accept-CH"} {
			h.Set(name, "theirs")
		}
		if r.URL.Query().Has("policy") {
			h.Set("Content-Security-Policy", "sandbox allow-scripts allow-same-origin; default-src *")
		}
		fmt.Fprint(w, "<script>fetch('/threads/search', {method: 'POST'})</script>")
	})
	for _, path := range []string{"/page", "/page?policy"} {
		res, _ := send(t, request(t, "GET", srv.URL+"/agents/legacy/upstream"+path, ""))
		policies := res.Header.Values("Content-Security-Policy")
		ours := policies[len(policies)-1]
		if !strings.HasPrefix(ours, "sandbox ") || strings.Contains(ours, "allow-same-origin") || strings.Contains(ours, "escape") || strings.Contains(ours, "top-navigation") {
			t.Errorf("%s: policies %q", path, policies)
		}
		for name, values := range res.Header {
			if strings.Contains(strings.Join(values, ","), "theirs") {
				t.Errorf("%s: %s is passed on", path, name)
			}
		}
	}
	worker := request(t, "GET", srv.URL+"/agents/legacy/upstream/worker.js", "")
	worker.Header.Set("Service-Worker", "script")
	if res, body := send(t, worker); res.StatusCode != http.StatusForbidden {
		t.Errorf("a service worker's script: %d %s", res.StatusCode, body)
	}
}

// TestAgentReceivesThePrincipal checks a configured header, which the caller cannot set.
func TestAgentReceivesThePrincipal(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	srv := way(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Clone() }, func(c *config.Agent) {
		c.Headers = map[string]config.Secret{"X-For": "user {principal.id}"}
	})
	proxy := srv.Config.Handler
	for id, want := range map[string]string{"alice": "user alice", "": ""} {
		known := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			proxy.ServeHTTP(w, r.WithContext(mapping.WithPrincipal(r.Context(), mapping.Principal{ID: id})))
		}))
		defer known.Close()
		req := request(t, "GET", known.URL+"/agents/legacy/upstream/x", "")
		req.Header.Set("X-For", "user root")
		send(t, req)
		if got := (<-seen)["X-For"]; strings.Join(got, ",") != want {
			t.Errorf("for %q the agent receives %q", id, got)
		}
	}
}

// TestInterimResponsesAndTrailersAreDropped checks that they do not bypass the filter of an agent's headers, and that
// the bridge's own headers are kept.
func TestInterimResponsesAndTrailersAreDropped(t *testing.T) {
	t.Parallel()
	srv := way(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "early=1")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Set-Cookie")
		w.Header().Set("Trailer", "Set-Cookie")
		_, _ = io.WriteString(w, "whole")
		w.Header().Set("Set-Cookie", "late=1")
		w.Header().Set(http.TrailerPrefix+"Alt-Svc", `h2="elsewhere:443"`)
	})
	interim := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		interim++
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+passthrough.Prefix("legacy")+"/page", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, text := send(t, req)
	if text != "whole" || interim != 0 || len(res.Trailer) != 0 || res.Header.Get("Set-Cookie") != "" || res.Header.Get("Trailer") != "" {
		t.Errorf("%q after %d interim answers, headers %v, trailers %v", text, interim, res.Header, res.Trailer)
	}
}

package passthrough

import (
	"net/http"
	"slices"
	"strings"
)

// folded is a header's name as the most lenient reader sees it: gateways to CGI, WSGI and their kin do not tell
// X_Tenant, x-tenant and X.Tenant apart.
func folded(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			return c
		}
		return '-'
	}, name)
}

// notForwarded are folded names. The caller's credentials are for the bridge alone; where a page sent the request from
// is between it and the bridge. Upgrades are not carried: the deadlines of our connections would cut them. The place in
// a trace is the bridge's to tell, as in every call. The rest names the caller, its address, or another path or method
// than the bridge has judged: an agent that believes the proxy in front of it would believe a caller that writes them
// itself.
var notForwarded = []string{
	"x-api-key", "authorization", "proxy-authorization", "cookie", "origin", "referer", "connection", "upgrade",
	"traceparent", "tracestate", "baggage",
	"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "x-cluster-client-ip",
	"x-http-method", "x-http-method-override", "x-method-override",
	"api-key", "x-user", "x-username", "x-userinfo", "x-email", "x-groups", "x-roles", "x-id-token", "x-access-token", "x-scope-orgid",
}

// notForwardedKinds begin the folded names of such headers.
var notForwardedKinds = []string{
	"x-forwarded-", "x-original-", "x-rewrite-", "x-remote-", "remote-user", "remote-group", "remote-email", "remote-name",
	"x-auth-", "x-authenticated-", "x-authentik-", "x-vouch-", "x-consumer-", "x-credential-", "x-anonymous-consumer", "x-user-", "x-token-", "x-jwt-", "x-envoy-",
	"x-webauth-", "x-ssl-client-", "ssl-client-", "x-client-cert",
	"x-amzn-oidc-", "x-goog-authenticated-user-", "x-goog-iap-", "x-ms-client-principal", "x-ms-token-", "cf-access-", "tailscale-user-", "x-pomerium-",
}

// withhold removes what an agent must not be told by a caller, in whichever spelling; own are the folded names of the
// headers that the configuration gives the agent.
func withhold(h http.Header, own map[string]bool) {
	for name := range h {
		f := folded(name)
		kind := func(prefix string) bool { return strings.HasPrefix(f, prefix) }
		if own[f] || slices.Contains(notForwarded, f) || slices.ContainsFunc(notForwardedKinds, kind) {
			delete(h, name)
		}
	}
}

// notReturned is what the bridge says itself, or what would give an agent a place among the cookies, permissions,
// reports and caches of the bridge's own address.
var notReturned = []string{
	"Set-Cookie", "X-Request-Id", "X-Content-Type-Options", "Strict-Transport-Security", "Clear-Site-Data", "Alt-Svc", "Service-Worker-Allowed",
	"Nel", "Report-To", "Reporting-Endpoints", "Accept-Ch", "Public-Key-Pins", "Expect-Ct",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Expose-Headers", "Access-Control-Max-Age", "Access-Control-Allow-Private-Network",
}

// sandbox has a browser show an agent's page as one of no origin: its scripts run, but are a foreign page's to the
// bridge, without its answers, storage and service workers.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"

// confine keeps an agent's answer from acting in the bridge's name. A policy of the agent's own stays: a browser holds
// a page to all of them.
func confine(h http.Header) {
	for _, name := range notReturned {
		h.Del(name)
	}
	h.Add("Content-Security-Policy", sandbox)
}

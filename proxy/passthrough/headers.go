package passthrough

import (
	"net/http"
	"slices"
	"strings"
)

// folded returns a header's name as the most lenient reader sees it: gateways to CGI, WSGI and the like do not
// distinguish X_Tenant, x-tenant and X.Tenant.
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

// notForwarded are folded names. The caller's credentials are only for the bridge, and so is the name of the page that
// sent the request. Upgrades are not supported, because the deadlines of our connections would cut them. The bridge
// writes the position in a trace itself, as in every call. The others name the caller, its address, or a path or method
// other than the one that the bridge has checked. An agent that trusts its proxy would trust a caller that writes them.
var notForwarded = []string{
	"x-api-key", "authorization", "proxy-authorization", "cookie", "origin", "referer", "connection", "upgrade",
	"traceparent", "tracestate", "baggage",
	"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "x-cluster-client-ip",
	"x-http-method", "x-http-method-override", "x-method-override",
	"api-key", "x-user", "x-username", "x-userinfo", "x-email", "x-groups", "x-roles", "x-id-token", "x-access-token", "x-scope-orgid",
}

// notForwardedKinds are prefixes of such folded names.
var notForwardedKinds = []string{
	"x-forwarded-", "x-original-", "x-rewrite-", "x-remote-", "remote-user", "remote-group", "remote-email", "remote-name",
	"x-auth-", "x-authenticated-", "x-authentik-", "x-vouch-", "x-consumer-", "x-credential-", "x-anonymous-consumer", "x-user-", "x-token-", "x-jwt-", "x-envoy-",
	"x-webauth-", "x-ssl-client-", "ssl-client-", "x-client-cert",
	"x-amzn-oidc-", "x-goog-authenticated-user-", "x-goog-iap-", "x-ms-client-principal", "x-ms-token-", "cf-access-", "tailscale-user-", "x-pomerium-",
}

// withhold removes headers that a caller must not send to an agent, in any spelling. own are the folded names of the
// agent's configured headers.
func withhold(h http.Header, own map[string]bool) {
	for name := range h {
		f := folded(name)
		kind := func(prefix string) bool { return strings.HasPrefix(f, prefix) }
		if own[f] || slices.Contains(notForwarded, f) || slices.ContainsFunc(notForwardedKinds, kind) {
			delete(h, name)
		}
	}
}

// notReturned are headers that the bridge writes itself, or that would give an agent access to the cookies,
// permissions, reports and caches of the bridge's own address.
var notReturned = []string{
	"Set-Cookie", "X-Request-Id", "X-Content-Type-Options", "Strict-Transport-Security", "Clear-Site-Data", "Alt-Svc", "Service-Worker-Allowed",
	"Nel", "Report-To", "Reporting-Endpoints", "Accept-Ch", "Public-Key-Pins", "Expect-Ct",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Expose-Headers", "Access-Control-Max-Age", "Access-Control-Allow-Private-Network",
}

// sandbox makes a browser treat an agent's page as one without an origin. Its scripts run but, like those of a foreign
// page, have no access to the bridge's responses, storage and service workers.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"

// confine prevents an agent's response from acting in the bridge's name. The agent's own policy is kept, since a
// browser enforces all policies.
func confine(h http.Header) {
	for _, name := range notReturned {
		h.Del(name)
	}
	h.Add("Content-Security-Policy", sandbox)
}

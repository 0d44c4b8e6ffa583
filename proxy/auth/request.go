package auth

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

const codeUnauthorized = "unauthorized"

// Errors of requests whose key is not checked.
var (
	errMissing error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
		"This bridge requires an API key. Send it as x-api-key or as Authorization: Bearer; a page's WebSocket offers it as a subprotocol. It is never read from a URL.")
	errEncoded error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
		"The API key among the WebSocket's subprotocols is not in base64url. Offer x-api-key. with the key in base64url, without padding.")
	errTwice error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized, "The request contains credentials twice. Send them once.")
)

// Strip removes the bridge's credentials, so that no handler or agent receives them.
func Strip(h http.Header) {
	h.Del("X-Api-Key")
	h.Del("Authorization")
	stripOffered(h)
}

// presented returns the key of a request. A duplicate header is refused, because a proxy could have checked the other
// one.
func presented(h http.Header) (string, error) {
	if len(h.Values("X-Api-Key")) > 1 || len(h.Values("Authorization")) > 1 {
		return "", errTwice
	}
	if key := h.Get("X-Api-Key"); key != "" {
		return key, nil
	}
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
		return token, nil
	}
	return offered(h)
}

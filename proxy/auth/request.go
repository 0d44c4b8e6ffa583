package auth

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/mapping"
)

const codeUnauthorized = "unauthorized"

// Why a request is refused before its key is looked at.
var (
	errMissing error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
		"This bridge wants an API key. Send it as x-api-key, or as Authorization: Bearer.")
	errTwice error = mapping.Errorf(mapping.Unauthorized, codeUnauthorized, "The request holds its credentials twice. Send one.")
)

// Authenticate returns who the request is made for, by x-api-key or else
// Authorization: Bearer (RFC 6750 section 2.1). Without configured keys that is
// the zero principal, whatever the request holds. The error is an
// *mapping.Error of class Unauthorized and never tells the key.
//
// A header that is there twice is refused: whoever stands between could have
// looked at the other one.
func (k *Keys) Authenticate(r *http.Request) (mapping.Principal, error) {
	if !k.Required() {
		return mapping.Principal{}, nil
	}
	key, err := presented(r.Header)
	if err != nil {
		return mapping.Principal{}, err
	}
	return k.principal(key)
}

func (k *Keys) principal(key string) (mapping.Principal, error) {
	who, ok := k.Verify(key)
	if !ok {
		return mapping.Principal{}, mapping.Errorf(mapping.Unauthorized, codeUnauthorized,
			"The API key is not known here. Check it against auth.keys of the bridge.")
	}
	return who, nil
}

// Strip removes the bridge's own credentials, so that nothing behind gets them.
func Strip(h http.Header) {
	h.Del("X-Api-Key")
	h.Del("Authorization")
}

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
	return "", errMissing
}

package auth

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// A page cannot set headers of a WebSocket, except for the subprotocols (RFC 6455 section 1.9; WebSocket constructor of
// the HTML standard). So a key may be one of those: keyProtocol and the key in base64url without padding, since a
// subprotocol allows fewer characters. A URL would appear in logs.
const (
	protocolHeader = "Sec-Websocket-Protocol"
	keyProtocol    = "x-api-key."
)

// offered returns the key among the subprotocols of a request.
func offered(h http.Header) (key string, err error) {
	for _, name := range subprotocols(h) {
		encoded, is := strings.CutPrefix(name, keyProtocol)
		if !is {
			continue
		}
		if key != "" {
			return "", errTwice
		}
		raw, err := base64.RawURLEncoding.DecodeString(encoded)
		if err != nil || len(raw) == 0 {
			return "", errEncoded
		}
		key = string(raw)
	}
	if key == "" {
		return "", errMissing
	}
	return key, nil
}

// stripOffered removes the key from the subprotocols.
func stripOffered(h http.Header) {
	if h.Get(protocolHeader) == "" {
		return
	}
	var rest []string
	for _, name := range subprotocols(h) {
		if !strings.HasPrefix(name, keyProtocol) {
			rest = append(rest, name)
		}
	}
	if h.Del(protocolHeader); len(rest) > 0 {
		h.Set(protocolHeader, strings.Join(rest, ", "))
	}
}

func subprotocols(h http.Header) (list []string) {
	for _, line := range h.Values(protocolHeader) {
		for name := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	return list
}

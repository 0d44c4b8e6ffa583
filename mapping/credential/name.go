package credential

import (
	"net/url"
	"slices"
	"strings"
)

// secrecy is how much a name says about its value.
type secrecy int

const (
	open secrecy = iota
	// perhaps is for names that end with token or secret and have no other hint. The value may be a word that a model
	// said or a mark of its language (<|…|>), so it is hidden only if it has the length of a credential and no space.
	perhaps
	secret
)

const (
	maxName     = 64 // bytes; a longer name is a sentence
	leastUnsure = 16 // bytes of a value whose name is unsure, and of one behind a colon in a sentence less
	leastWord   = 6
)

// endings are those of names whose values are credentials, in lower case and without separators.
var endings = []string{
	"apikey", "accesstoken", "refreshtoken", "authtoken", "sessiontoken", "bearertoken", "securitytoken", "clientsecret", "secretkey",
	"privatekey", "accesskey", "accountkey", "subscriptionkey", "signingkey", "encryptionkey", "masterkey", "authkey", "privatekeypem", "password", "passwd", "passphrase", "passcode",
}

// wholeNames are names whose values are credentials only if they are the whole name.
var wholeNames = []string{"authorization", "proxyauthorization", "cookie", "cookies", "setcookie", "setcookies", "credentials", "pwd", "jwt", "idtoken"}

// secrecyOf classifies the value of a member, header or variable by its name.
func secrecyOf(name string) secrecy {
	if len(name) > maxName {
		return open
	}
	lower := strings.ToLower(name)
	switch lower[max(0, len(lower)-3):] { // most names end otherwise
	case "key", "ken", "ret", "ord", "swd", "ase", "ion", "kie", "ies", "pwd", "jwt", "pem", "ode", "als":
	default:
		return open
	}
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, lower)
	is := func(ending string) bool { return strings.HasSuffix(plain, ending) }
	switch {
	case slices.Contains(wholeNames, plain), slices.ContainsFunc(endings, is), strings.HasSuffix(lower, "_id_token"), strings.HasSuffix(lower, "-id-token"):
		return secret
	case is("token"), is("secret"):
		return perhaps
	}
	return open
}

// isSecretParameter reports whether the value of a parameter of a URL or a form is a credential.
func isSecretParameter(name string) bool {
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	switch strings.ToLower(name) {
	case "token", "secret", "key", "sig":
		return true
	}
	return secrecyOf(name) == secret || strings.HasSuffix(strings.ToLower(name), "signature")
}

// describes reports whether a member of an object says something about a value and is not one: members of JSON Schema
// and the names of cookies.
func describes(name string) bool {
	switch name {
	case "type", "title", "description", "format", "$ref", "pattern", "required", "minLength", "maxLength", "name", "in":
		return true
	}
	return false
}

// listsNames reports whether a member of JSON Schema holds names or words, so that two of them are no pair.
func listsNames(member string) bool { return member == "required" || member == "enum" }

// named reports whether a member of an object has the name of what its member "value" holds, as in lists of headers.
func named(member string) bool {
	switch member {
	case "name", "Name", "key", "Key", "header":
		return true
	}
	return false
}

// longEnough reports whether a value whose name is unsure is taken for a credential.
func longEnough(value []byte) bool {
	return len(value) > leastUnsure && value[0] != '<' && !slices.ContainsFunc(value, isBlank)
}

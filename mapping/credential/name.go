package credential

import (
	"net/url"
	"slices"
	"strings"
)

// secrecy is the degree to which a name marks its value as a credential.
type secrecy int

const (
	open secrecy = iota
	// perhaps is for names that end with token or secret without another hint. The value may be a word of a model or a
	// mark of its language (<|…|>), so it is hidden only if it is as long as a credential and has no space.
	perhaps
	secret
)

const (
	maxName     = 64 // bytes; a longer name is a sentence
	leastUnsure = 16 // minimum bytes of a value with an uncertain name, or after a colon in a sentence less
	leastWord   = 6
)

// endings are the last parts of credentials' names, in lower case and without separators.
var endings = []string{
	"apikey", "accesstoken", "refreshtoken", "authtoken", "sessiontoken", "bearertoken", "securitytoken", "clientsecret", "secretkey",
	"privatekey", "accesskey", "accountkey", "subscriptionkey", "signingkey", "encryptionkey", "masterkey", "authkey", "privatekeypem", "password", "passwd", "passphrase", "passcode",
}

// wholeNames name a credential only if they are the whole name.
var wholeNames = []string{"authorization", "proxyauthorization", "cookie", "cookies", "setcookie", "setcookies", "credentials", "pwd", "jwt", "idtoken"}

// secrecyOf classifies the value of a member, header or variable by its name.
func secrecyOf(name string) secrecy {
	if len(name) > maxName {
		return open
	}
	lower := strings.ToLower(name)
	switch lower[max(0, len(lower)-3):] { // most names end differently
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

// describes reports whether a member of an object describes a value: members of JSON Schema and the names of cookies.
func describes(name string) bool {
	switch name {
	case "type", "title", "description", "format", "$ref", "pattern", "required", "minLength", "maxLength", "name", "in":
		return true
	}
	return false
}

// listsNames reports whether a member of JSON Schema lists names or words, two of which are not a pair.
func listsNames(member string) bool { return member == "required" || member == "enum" }

// named reports whether a member of an object names the value in its member "value", as in lists of headers.
func named(member string) bool {
	switch member {
	case "name", "Name", "key", "Key", "header":
		return true
	}
	return false
}

// longEnough reports whether a value with an uncertain name counts as a credential.
func longEnough(value []byte) bool {
	return len(value) > leastUnsure && value[0] != '<' && !slices.ContainsFunc(value, isBlank)
}

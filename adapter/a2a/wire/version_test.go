package wire_test

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
)

// S 3.6: the version is Major.Minor, empty means 0.3, and a patch number counts for nothing.
func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.Version{
		"": wire.V03, " ": wire.V03, "0.3": wire.V03, "0.3.0": wire.V03, "0.3.12": wire.V03,
		"1.0": wire.V1, "1.0.1": wire.V1, " 1.0 ": wire.V1, "1": wire.V1,
		"0.2": 0, "0.2.6": 0, "0": 0, "1.1": 0, "2.0": 0, "1.0.x": 0, "1.": 0, "v1.0": 0, "1.0.1.1": 0, "rubbish": 0, "1,0": 0,
	} {
		got, ok := wire.ParseVersion(text)
		if ok != (want != 0) || ok && got != want {
			t.Errorf("%q is %v, %v", text, got, ok)
		}
	}
}

// The method's name decides on the version, and the header must agree (S 3.6).
func TestNegotiate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, header string
		legacy       bool
		method       wire.Method
		version      wire.Version
		code         wire.Code // 0: none
	}{
		{"SendMessage", "1.0", true, wire.MethodSendMessage, wire.V1, 0},
		{"SendMessage", "1.0.1", false, wire.MethodSendMessage, wire.V1, 0},
		{"SendMessage", "", true, wire.MethodSendMessage, wire.V1, 0}, // curl users send none
		{"ListTasks", "", true, wire.MethodListTasks, wire.V1, 0},
		{"SendMessage", "0.3", true, "", wire.V1, wire.CodeVersionNotSupported},
		{"SendMessage", "2.0", true, "", wire.V1, wire.CodeVersionNotSupported},
		{"SendMessage", "rubbish", true, "", wire.V1, wire.CodeVersionNotSupported},
		{"message/send", "", true, wire.MethodSendMessage, wire.V03, 0},
		{"message/send", "0.3", true, wire.MethodSendMessage, wire.V03, 0},
		{"message/send", "0.3.0", true, wire.MethodSendMessage, wire.V03, 0},
		{"message/send", "", false, "", wire.V03, wire.CodeVersionNotSupported},
		{"message/send", "0.3", false, "", wire.V03, wire.CodeVersionNotSupported},
		{"message/send", "1.0", true, "", wire.V03, wire.CodeVersionNotSupported}, // it would read our answer by 1.0's rules
		{"message/send", "9", true, "", wire.V03, wire.CodeVersionNotSupported},
		{"tasks/resubscribe", "", true, wire.MethodSubscribeToTask, wire.V03, 0},
		{"tasks/list", "", true, "", wire.V03, wire.CodeMethodNotFound}, // 0.3 has no list over JSON-RPC
		{"sendMessage", "1.0", true, "", wire.V1, wire.CodeMethodNotFound},
		{"", "1.0", true, "", wire.V1, wire.CodeMethodNotFound},
		{"SendMessage2", "3.0", true, "", wire.V1, wire.CodeVersionNotSupported},
	} {
		method, version, err := wire.Negotiate(c.name, c.header, c.legacy)
		if version != c.version || method != c.method || codeOf(err) != c.code {
			t.Errorf("%q with %q, legacy %v: %v %v %v", c.name, c.header, c.legacy, method, version, err)
		}
	}
}

// The path of an HTTP+JSON request decides on its version (V3: REST under /v1).
func TestNegotiateHTTP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version wire.Version
		header  string
		legacy  bool
		ok      bool
	}{
		{wire.V1, "", true, true}, {wire.V1, "1.0", false, true}, {wire.V1, "0.3", true, false}, {wire.V1, "1.1", true, false},
		{wire.V03HTTP, "", true, true}, {wire.V03HTTP, "0.3", true, true}, {wire.V03HTTP, "", false, false}, {wire.V03HTTP, "1.0", true, false},
	} {
		if err := wire.NegotiateHTTP(c.version, c.header, c.legacy); (err == nil) != c.ok || !c.ok && codeOf(err) != wire.CodeVersionNotSupported {
			t.Errorf("%v with %q, legacy %v: %v", c.version, c.header, c.legacy, err)
		}
	}
}

// codeOf returns the code of an error of this package; 0 for nil.
func codeOf(err error) wire.Code {
	if err == nil {
		return 0
	}
	return errorOf(err).Code
}

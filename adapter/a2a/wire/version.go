package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of the protocol, together with the shape of its JSON.
type Version int

const (
	// V1 is version 1.0 in both bindings.
	V1 Version = iota + 1
	// V03 is version 0.3 over JSON-RPC (V3, a2a.json).
	V03
	// V03HTTP is version 0.3 over HTTP+JSON. Its bodies are ProtoJSON of 0.3's own a2a.proto, which differs from a2a.json
	// in the shape of messages, parts, enums and push configurations. The official SDKs for Go, JavaScript and Python
	// agree on that.
	V03HTTP
)

// String returns the version as it is sent, such as "1.0".
func (v Version) String() string {
	if v == V1 {
		return "1.0"
	}
	return "0.3"
}

// Headers of requests and answers (S 3.6, 4.6, V3). The version may also be a query parameter of the same name.
const (
	VersionHeader          = "A2A-Version"
	ExtensionsHeader       = "A2A-Extensions"
	LegacyExtensionsHeader = "X-A2A-Extensions"
)

// MediaType is the content type of HTTP+JSON bodies (S 11.1). Readers also accept application/json. Errors must be sent
// as application/json, since a2a-go 2.4.0 reads no other error; @a2a-js/sdk 1.3.0 reads both.
const MediaType = "application/a2a+json"

// ParseVersion reads a version header or an interface's protocolVersion. Empty means 0.3, and the patch number does not
// count (S 3.6). The result is V1 or V03, or false if the version is not supported.
func ParseVersion(s string) (Version, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return V03, true
	}
	major, rest, _ := strings.Cut(s, ".")
	minor, patch, patched := strings.Cut(rest, ".")
	if patched && !isNumber(patch) {
		return 0, false
	}
	switch {
	case s == "1" || major == "1" && minor == "0":
		return V1, true
	case major == "0" && minor == "3":
		return V03, true
	}
	return 0, false
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// Method is an operation by its JSON-RPC name in 1.0 (S 9.4).
type Method string

const (
	MethodSendMessage          Method = "SendMessage"
	MethodSendStreamingMessage Method = "SendStreamingMessage"
	MethodGetTask              Method = "GetTask"
	MethodListTasks            Method = "ListTasks"
	MethodCancelTask           Method = "CancelTask"
	MethodSubscribeToTask      Method = "SubscribeToTask"
	MethodCreatePushConfig     Method = "CreateTaskPushNotificationConfig"
	MethodGetPushConfig        Method = "GetTaskPushNotificationConfig"
	MethodListPushConfigs      Method = "ListTaskPushNotificationConfigs"
	MethodDeletePushConfig     Method = "DeleteTaskPushNotificationConfig"
	MethodGetExtendedAgentCard Method = "GetExtendedAgentCard"
)

// legacyNames are the JSON-RPC names of 0.3 (V3). ListTasks has none.
var legacyNames = map[Method]string{
	MethodSendMessage:          "message/send",
	MethodSendStreamingMessage: "message/stream",
	MethodGetTask:              "tasks/get",
	MethodListTasks:            "",
	MethodCancelTask:           "tasks/cancel",
	MethodSubscribeToTask:      "tasks/resubscribe",
	MethodCreatePushConfig:     "tasks/pushNotificationConfig/set",
	MethodGetPushConfig:        "tasks/pushNotificationConfig/get",
	MethodListPushConfigs:      "tasks/pushNotificationConfig/list",
	MethodDeletePushConfig:     "tasks/pushNotificationConfig/delete",
	MethodGetExtendedAgentCard: "agent/getAuthenticatedExtendedCard",
}

var methodsByName = func() map[string]Method {
	all := map[string]Method{}
	for m, legacy := range legacyNames {
		all[string(m)] = m
		if legacy != "" {
			all[legacy] = m
		}
	}
	return all
}()

// Name returns the JSON-RPC name of a method in a version, "" if the version does not have it.
func (m Method) Name(v Version) string {
	if v == V1 {
		return string(m)
	}
	return legacyNames[m]
}

// Streams reports whether the answer is a stream.
func (m Method) Streams() bool {
	return m == MethodSendStreamingMessage || m == MethodSubscribeToTask
}

// Negotiate decides on the method and version of a JSON-RPC request. The name decides first: names of 0.3 have a slash,
// names of 1.0 have none. header is the version header or query parameter; a request for 1.0 may omit it. legacy
// reports whether 0.3 is served at all. An error is an *Error, to be written in the returned version.
func Negotiate(name, header string, legacy bool) (Method, Version, error) {
	named := V1
	if strings.Contains(name, "/") {
		named = V03
	}
	if err := NegotiateHTTP(named, header, legacy); err != nil {
		return "", named, err
	}
	m, ok := methodsByName[name]
	if !ok {
		return "", named, &Error{Code: CodeMethodNotFound, Message: fmt.Sprintf("There is no method %q.", shorten(name))}
	}
	return m, named, nil
}

// NegotiateHTTP checks the version header or query parameter of an HTTP+JSON request. v is Target.Version: the path
// decides, as names do in Negotiate. An error is an *Error, to be written in version v.
func NegotiateHTTP(v Version, header string, legacy bool) error {
	said, known := ParseVersion(header)
	if v == V1 {
		if strings.TrimSpace(header) == "" || known && said == V1 {
			return nil
		}
	} else if legacy && known && said == V03 {
		return nil
	}
	served := "1.0"
	if legacy {
		served = "1.0 and 0.3"
	}
	problem := fmt.Sprintf("Version %q of the protocol is not supported.", shorten(header))
	switch {
	case known && said.String() != v.String():
		problem = fmt.Sprintf("The request is of version %s, but its %s header is %q.", v, VersionHeader, shorten(header))
	case known:
		problem = "Version 0.3 of the protocol is not supported."
	}
	return &Error{Code: CodeVersionNotSupported, Message: problem + " This agent supports " + served + "."}
}

// shorten bounds a caller's text that an error repeats.
func shorten(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "..."
	}
	return s
}

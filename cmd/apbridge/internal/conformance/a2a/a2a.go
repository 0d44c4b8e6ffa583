// Package a2a checks the A2A protocol, version 1.0, by its specification. Package conformance runs it. It calls the
// first JSON-RPC interface of the agent card, or else its first HTTP+JSON interface, and checks the other binding
// briefly. Start with Suite.
package a2a

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

const (
	doc check.Document = "A2A specification 1.0"

	cardPath = "/.well-known/agent-card.json"
	// prompt is cheap to process and gives the agent no reason to ask a question.
	prompt = "Write the word Washington to a file with the ending .txt"
	nobody = "00000000-0000-4000-8000-00000000c0de" // an unknown id
)

// Suite returns the checks of version 1.0.
func Suite() check.Suite {
	return check.Suite{Name: "a2a", Title: "A2A 1.0", Speaks: speaks, Begin: begin}
}

// speaks reports whether the server has a card with an interface that the checks can call.
func speaks(t *check.Talk) bool {
	c := readCard(t)
	return !t.Over() && (c.rpc != nil || c.http != nil)
}

type suite struct {
	card   check.Once[card]
	task   check.Once[outcome] // the response to a message
	stream check.Once[stream]
	pushed check.Once[push]

	token    string // makes the ids of messages unique
	messages int
}

func begin() []check.Check {
	s := &suite{token: rand.Text()}
	return slices.Concat(s.cardChecks(), s.sendChecks(), s.readChecks(), s.streamChecks(), s.pushChecks(), s.rpcChecks(), s.httpChecks())
}

// card is the agent card, with the paths of its interfaces below the server's URL.
type card struct {
	check.Answer
	rpc, http       *string // nil if the card has none of this server
	streaming, push bool
	extended        bool
}

func readCard(t *check.Talk) (c card) {
	c.Answer = t.Get(cardPath).Is(http.StatusOK)
	for _, each := range c.List("supportedInterfaces") {
		version := check.TextAt(each, "protocolVersion")
		path, here := t.PathOf(check.TextAt(each, "url"))
		if !here || version != "1.0" && !strings.HasPrefix(version, "1.0.") {
			continue
		}
		switch binding := check.TextAt(each, "protocolBinding"); {
		case binding == "JSONRPC" && c.rpc == nil:
			c.rpc = &path
		case binding == "HTTP+JSON" && c.http == nil:
			path = strings.TrimSuffix(path, "/")
			c.http = &path
		}
	}
	c.streaming = c.At("capabilities.streaming") == true
	c.push = c.At("capabilities.pushNotifications") == true
	c.extended = c.At("capabilities.extendedAgentCard") == true
	return c
}

func (s *suite) aCard(t *check.Talk) card { return s.card.Need(t, "agent card", readCard) }

// reasons has the reasons of ErrorInfo by error code (section 5.4).
var reasons = map[int]string{
	-32001: "TASK_NOT_FOUND", -32002: "TASK_NOT_CANCELABLE", -32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
	-32004: "UNSUPPORTED_OPERATION", -32005: "CONTENT_TYPE_NOT_SUPPORTED", -32007: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
	-32009: "VERSION_NOT_SUPPORTED", -32602: "invalid parameters",
}

const (
	taskNotFound      = -32001
	notCancelable     = -32002
	pushNotSupported  = -32003
	unsupported       = -32004
	versionUnknown    = -32009
	invalidParameters = -32602
)

// members has the parameters of a call.
type members = map[string]any

// outcome is the result or error of a call over either binding.
type outcome struct {
	check.Answer
	overRPC bool
}

// at returns a member of the result.
func (o outcome) at(path string) any {
	if o.overRPC {
		if path == "" {
			return o.At("result")
		}
		return o.At("result." + path)
	}
	return o.At(path)
}

func (o outcome) text(path string) string {
	s, _ := o.at(path).(string)
	return s
}

// errorCode returns the code of an error, or 0. Over HTTP+JSON it is determined by the reason.
func (o outcome) errorCode() int {
	if o.overRPC {
		n, _ := o.At("error.code").(float64)
		return int(n)
	}
	reason := reasonOf(o.List("error.details"))
	for code, name := range reasons {
		if name == reason {
			return code
		}
	}
	return 0
}

// reasonOf returns the reason of the ErrorInfo among the details of an error.
func reasonOf(details []any) string {
	for _, each := range details {
		if strings.HasSuffix(check.TextAt(each, "@type"), "google.rpc.ErrorInfo") {
			return check.TextAt(each, "reason")
		}
	}
	return ""
}

// call calls a method over the preferred binding.
func (s *suite) call(t *check.Talk, method string, params members) outcome {
	r, overRPC := s.request(t, method, params)
	return outcome{t.Send(r), overRPC}
}

// request returns the request of a method over the preferred binding. It fails the check if the card has none.
func (s *suite) request(t *check.Talk, method string, params members) (r check.Request, overRPC bool) {
	c := s.aCard(t)
	switch {
	case t.Over():
	case c.rpc != nil:
		return rpcRequest(t, c, method, params), true
	case c.http != nil:
		return httpRequest(t, c, method, params), false
	default:
		t.Fail("the card has no interface of version 1.0 on this server for JSONRPC or HTTP+JSON")
	}
	return r, false
}

// succeeds is call for a method that must succeed.
func (s *suite) succeeds(t *check.Talk, method string, params members) outcome {
	o := s.call(t, method, params).is2xx(t)
	if o.overRPC && !t.Over() && o.At("error") != nil {
		t.Fail("%s fails with %d: %.200s", method, o.errorCode(), o.Text("error.message"))
	}
	return o
}

func (o outcome) is2xx(t *check.Talk) outcome {
	if !t.Over() && o.Status/100 != 2 {
		t.Fail("the status is %d", o.Status)
	}
	return o
}

// fails is call for a method that must fail with an error of this code.
func (s *suite) fails(t *check.Talk, method string, params members, code int) outcome {
	o := s.call(t, method, params)
	if got := o.errorCode(); !t.Over() && got != code {
		switch {
		case o.overRPC && o.At("error") == nil || !o.overRPC && o.Status/100 == 2:
			t.Fail("%s succeeds", method)
		case o.overRPC || code != invalidParameters:
			t.Fail("the error is %d (%s), not %d (%s)", got, reasons[got], code, reasons[code])
		case o.Status != http.StatusBadRequest:
			t.Fail("the status is %d, not 400", o.Status)
		}
	}
	return o
}

var versionHeader = map[string]string{"A2A-Version": "1.0", "Accept": "application/json, text/event-stream"}

// callID is the id of every JSON-RPC call.
const callID = "check-1"

func rpcRequest(t *check.Talk, c card, method string, params members) check.Request {
	body := t.JSON(members{"jsonrpc": "2.0", "id": callID, "method": method, "params": params})
	return check.Request{Method: http.MethodPost, Path: *c.rpc, Body: body, Header: versionHeader}
}

// httpRequest returns the request of a method over HTTP+JSON (section 11.3).
func httpRequest(t *check.Talk, c card, method string, params members) check.Request {
	r := check.Request{Method: http.MethodGet, Header: versionHeader}
	post := func(path string, body any) {
		r.Method, r.Path, r.Body, r.Type = http.MethodPost, path, t.JSON(body), "application/a2a+json"
	}
	id, config := fmt.Sprint(params["id"]), ""
	if task, ok := params["taskId"]; ok { // of a push configuration
		id, config = fmt.Sprint(task), fmt.Sprint(params["id"])
	}
	switch method {
	case "SendMessage":
		post("/message:send", params)
	case "SendStreamingMessage":
		post("/message:stream", params)
	case "GetTask":
		r.Path = "/tasks/" + id + query(params, "historyLength")
	case "ListTasks":
		r.Path = "/tasks" + query(params, "contextId", "pageSize", "includeArtifacts")
	case "CancelTask":
		post("/tasks/"+id+":cancel", members{})
	case "SubscribeToTask":
		post("/tasks/"+id+":subscribe", members{})
	case "CreateTaskPushNotificationConfig":
		post("/tasks/"+id+"/pushNotificationConfigs", params)
	case "ListTaskPushNotificationConfigs":
		r.Path = "/tasks/" + id + "/pushNotificationConfigs"
	case "GetTaskPushNotificationConfig":
		r.Path = "/tasks/" + id + "/pushNotificationConfigs/" + config
	case "DeleteTaskPushNotificationConfig":
		r.Method, r.Path = http.MethodDelete, "/tasks/"+id+"/pushNotificationConfigs/"+config
	case "GetExtendedAgentCard":
		r.Path = "/extendedAgentCard"
	}
	r.Path = *c.http + r.Path
	return r
}

// query returns the query of the named parameters that are set.
func query(params members, names ...string) string {
	var list []string
	for _, name := range names {
		if v, ok := params[name]; ok {
			list = append(list, fmt.Sprintf("%s=%v", name, v))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "?" + strings.Join(list, "&")
}

// message returns the parameters for a new message of the user.
func (s *suite) message(more members) members {
	s.messages++
	m := members{"messageId": fmt.Sprintf("%s-%d", s.token, s.messages), "role": "ROLE_USER", "parts": []any{members{"text": prompt}}}
	maps.Copy(m, more)
	return members{"message": m}
}

package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/taskstep"
	"github.com/apbridge/apbridge/adapter/threadrun"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy"
)

// spoken is a dialect with what the guards before its routes must know of it.
type spoken struct {
	adapter.Dialect
	owns func(path string) bool
	body func(e *mapping.Error) any
}

// Dialects is every dialect the bridge speaks, in the order their routes are
// mounted: those below a prefix first, which cost the others one comparison.
func Dialects() []spoken {
	return []spoken{
		{taskstep.Dialect(), ownedByTaskStep, messageBody},
		{threadrun.Dialect(), ownedByThreadRun, errorBody},
	}
}

// DialectNames are what the configuration may name as an agent's dialect.
func DialectNames() []string {
	var names []string
	for _, d := range Dialects() {
		names = append(names, d.Name)
	}
	return names
}

// Callable are the dialects in the order an agent is asked for them. The one
// that carries most is asked for first: another apbridge speaks all.
func Callable() []adapter.Dialect {
	var list []adapter.Dialect
	for _, d := range Dialects() {
		list = append(list, d.Dialect)
	}
	slices.Reverse(list)
	return list
}

func faces() []proxy.Face {
	var list []proxy.Face
	for _, d := range Dialects() {
		list = append(list, proxy.Face{Name: d.Name, Owns: d.owns, Body: d.body})
	}
	return list
}

// The guards ask about every path, also those that are refused for their form.

func ownedByTaskStep(path string) bool {
	parts := strings.SplitN(path, "/", 5) // "", first, second, third, rest
	if len(parts) < 2 || parts[0] != "" {
		return false
	}
	return parts[1] == "ap" || parts[1] == "agent" || parts[1] == "agents" && len(parts) > 3 && parts[3] == "ap"
}

func ownedByThreadRun(path string) bool {
	rest, rooted := strings.CutPrefix(path, "/")
	first, _, _ := strings.Cut(rest, "/")
	return rooted && slices.Contains([]string{"threads", "runs", "agents", "assistants", "store", "ok", "info"}, first)
}

// messageBody is the error of the Agent Protocol v1, whose SDKs read
// {"message"}; the code is ours.
func messageBody(e *mapping.Error) any {
	return struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	}{e.Message, e.Code}
}

// errorBody is the LangChain Agent Protocol's ErrorResponse, with the detail
// that LangGraph's clients look for.
func errorBody(e *mapping.Error) any {
	return struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Detail  any    `json:"detail"`
	}{e.Code, e.Message, e.Detail}
}

// Dial makes the backend of a configured agent. It does no I/O.
func Dial(up adapter.Upstream) (adapter.Backend, error) {
	if up.Config.Dialect == "auto" {
		return adapter.NewAuto(up, Callable()), nil
	}
	for _, d := range Callable() {
		if d.Name == up.Config.Dialect && d.Dial != nil {
			return d.Dial(up)
		}
	}
	return nil, fmt.Errorf("agents.%s.dialect: %q cannot be called", up.Name, up.Config.Dialect)
}

// webhookBody writes the body of a run's completion hook in the dialect the
// run was made in.
func webhookBody(run mapping.Run, out mapping.Outcome, values []byte) ([]byte, error) {
	for _, d := range Callable() {
		if d.Webhook != nil && slices.Contains(d.Flavours, run.Flavour) {
			return d.Webhook(run, out, json.RawMessage(values))
		}
	}
	return nil, fmt.Errorf("no dialect writes webhooks for runs of flavour %q", run.Flavour)
}

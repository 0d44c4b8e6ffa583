package backend_test

import (
	"net/http"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/backend"
	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/mapping"
)

// variants are the versions and bindings of an agent.
var variants = map[string]*adaptertest.A2AAgent{
	"1.0 over JSON-RPC":            {},
	"1.0 over JSON-RPC, polled":    {NoStream: true},
	"1.0 over JSON-RPC, no card":   {NoCard: true},
	"1.0 over HTTP+JSON":           {HTTP: true},
	"1.0 over HTTP+JSON, polled":   {HTTP: true, NoStream: true},
	"0.3":                          {Version: "0.3"},
	"0.3 over HTTP+JSON":           {Version: "0.3", HTTP: true},
	"0.3 over HTTP+JSON, polled":   {Version: "0.3", HTTP: true, NoStream: true},
	"0.3 over HTTP+JSON, breaking": {Version: "0.3", HTTP: true, CutAfter: 3},
	"HTTP+JSON with 0.3 as 1.0":    {Version: "0.3", HTTP: true, CardSays: "1.0"},
	"HTTP+JSON with 1.0 as 0.3":    {HTTP: true, CardSays: "0.3"},
	"0.3, polled":                  {Version: "0.3", NoStream: true},
	"0.3, no card":                 {Version: "0.3", NoCard: true},
	"1.0 with a card for 0.3":      {CardSays: "0.3"},
	"0.3 with a card for 1.0":      {Version: "0.3", CardSays: "1.0"},
	"LangGraph":                    {LangGraph: true},
	"LangGraph, polled":            {LangGraph: true, CutAfter: 2},
	"1.0, streams always break":    {CutAfter: 1},
	"1.0 over HTTP+JSON, breaking": {HTTP: true, CutAfter: 3},
}

// doing is an agent that gets other words than those of the suite's task.
type doing struct {
	*adaptertest.A2AAgent
	word string
}

func (d doing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = replaced(r.Body, `"text":"hi"`, `"text":"`+d.word+` it"`)
	d.A2AAgent.ServeHTTP(w, r)
}

func TestBackend(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			with := func(word string) func() adaptertest.Peer {
				return func() adaptertest.Peer {
					return doing{v.New(), word}
				}
			}
			broken := func(status int, body string) func() adaptertest.Peer {
				return func() adaptertest.Peer { return garbage{v.New(), status, body} }
			}
			adaptertest.TestBackend(t, adaptertest.Suite{
				Dial: dialAgent(v), Works: with("say"), Asks: with("ask"), Hangs: with("hang"),
				Fails: []adaptertest.Failure{
					{Name: "failed", Peer: with("fail"), Code: backend.CodeAgentFailed},
					{Name: "rejected", Peer: with("reject"), Code: mapping.CodeAgentRejected},
					{Name: "500", Peer: broken(500, "oh"), Code: mapping.CodeUpstreamError},
					{Name: "no JSON", Peer: broken(200, "oh"), Code: mapping.CodeOutcomeUnknown},
					{Name: "neither task nor message", Peer: broken(200, `{"jsonrpc":"2.0","id":"1","result":{}}`), Code: mapping.CodeOutcomeUnknown},
				},
			})
		})
	}
}

// garbage answers every call for a message with the same body.
type garbage struct {
	*adaptertest.A2AAgent
	status int
	body   string
}

func (g garbage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		g.A2AAgent.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(g.status)
	_, _ = w.Write([]byte(g.body))
}

package wire_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Documents that the official SDKs wrote are read: requests of their clients strictly, answers of their servers
// leniently. testdata/peers.json has each with what it means in 1.0. In 0.3 over HTTP+JSON, a2a-go encodes bytes in
// base64 twice, as a2a-python once did; @a2a-js/sdk does so once, as ProtoJSON demands, and so do we.
func TestDocumentsOfPeers(t *testing.T) {
	t.Parallel()
	documents := peerDocuments(t)
	for _, d := range documents {
		r := lenient
		if strings.HasSuffix(d.Type, "Request") || d.Type == "TaskPushNotificationConfig" {
			r = strict
		}
		got, err := asV1(t, r, peerVersions[d.Version], d.Type, string(d.Document))
		if err != nil || !rawjson.Equal([]byte(got), d.Want) {
			t.Errorf("%s of %s in %s: %v\n got %s\nwant %s", d.Type, d.Peer, d.Version, err, got, d.Want)
		}
	}
	if len(documents) < 50 {
		t.Errorf("only %d documents", len(documents))
	}
}

type peerDocument struct {
	Peer, Version, Type string
	Document, Want      json.RawMessage
}

var peerVersions = map[string]wire.Version{"1.0": wire.V1, "0.3": wire.V03, "0.3 HTTP+JSON": wire.V03HTTP}

func peerDocuments(t testing.TB) []peerDocument {
	t.Helper()
	raw, err := os.ReadFile("testdata/peers.json")
	if err != nil {
		t.Fatal(err)
	}
	var documents []peerDocument
	if err := json.Unmarshal(raw, &documents); err != nil {
		t.Fatal(err)
	}
	return documents
}

// What @a2a-js/sdk 1.3.0 and a2a-go 2.4.0 answer to a task that is not there.
func TestErrorsOfPeers(t *testing.T) {
	t.Parallel()
	const info = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}`
	for _, answer := range []string{
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"m","data":[` + info + `]}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"m"}}`,
	} {
		if _, err := lenient.Response([]byte(answer)); codeOf(err) != wire.CodeTaskNotFound {
			t.Errorf("%s: %v", answer, err)
		}
	}
	for _, body := range []string{`{"error":{"code":404,"status":"NOT_FOUND","message":"m","details":[` + info + `]}}`, `{"code":-32001,"message":"m"}`} {
		if e := lenient.HTTPError(404, []byte(body)); e.Code != wire.CodeTaskNotFound || e.Message != "m" {
			t.Errorf("%s: %v", body, e)
		}
	}
}

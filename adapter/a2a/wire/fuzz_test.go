package wire_test

import (
	"bytes"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/rawjson"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var allVersions = []wire.Version{wire.V1, wire.V03, wire.V03HTTP}

// Whatever is read can be written, and is read again as the same. That holds for every type, version and mode.
func FuzzRead(f *testing.F) {
	add := func(name string, v wire.Version, raw []byte) {
		at := slices.IndexFunc(types, func(typ any) bool { return reflect.TypeOf(typ).Name() == name })
		f.Add(byte(at), byte(slices.Index(allVersions, v)), []byte(rawjson.Compact(raw)))
	}
	for _, s := range samples(f) {
		for v, raw := range s.versions() {
			add(s.Type, v, raw)
		}
	}
	for _, d := range peerDocuments(f) {
		add(d.Type, peerVersions[d.Version], d.Document)
	}
	f.Add(byte(2), byte(1), []byte(`{"messageId":"m","parts":[{"kind":"file","file":{"bytes":"-_8"}},{"data":null,"text":"x"},{}]}`))
	limits := wire.Limits{Bytes: 1 << 16, Depth: 30, Count: 50}
	readers := []*wire.Reader{wire.NewReader(limits), wire.NewLenientReader(limits)}
	f.Fuzz(func(t *testing.T, which, version byte, raw []byte) {
		typ := reflect.TypeOf(types[int(which)%len(types)])
		v := allVersions[int(version)%len(allVersions)]
		for _, r := range readers {
			value := reflect.New(typ).Interface()
			if err := r.Read(v, raw, value); err != nil {
				if e := errorOf(err); e.Code != wire.CodeInvalidParams && e.Code != wire.CodeInvalidAgentResponse {
					t.Fatalf("%s: %v", raw, err)
				}
				continue
			}
			// Every version either refuses a value or writes it as one line of JSON.
			for _, to := range allVersions {
				if written, err := wire.Append(nil, to, value); err == nil && (!rawjson.Valid(written) || bytes.ContainsAny(written, "\r\n")) {
					t.Fatalf("%s as %s: %s", raw, to, written)
				}
			}
			written, err := wire.Append(nil, wire.V1, value)
			if err != nil {
				continue // an agent's message without parts
			}
			back := reflect.New(typ).Interface()
			if err := readers[1].Read(wire.V1, written, back); err != nil {
				t.Fatalf("%s, written as %s: %v", raw, written, err)
			}
			again, err := wire.Append(nil, wire.V1, back)
			if err != nil || !bytes.Equal(written, again) {
				t.Fatalf("%s\n is written as %s\nand then as   %s: %v", raw, written, again, err)
			}
		}
	})
}

// A call is refused with an answer under an id, or is read; either way the answer is one line of JSON.
func FuzzCall(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u0061","method":"message/send","params":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0"}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"x","params":[1]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		call, err := strict.Call(raw)
		method, v, versionErr := wire.Negotiate(call.Method, "", true)
		if err == nil && versionErr == nil {
			err = strict.Params(v, call, new(wire.SendMessageRequest))
			if written, e := wire.AppendCall(nil, v, call.ID, method, nil); e != nil || !rawjson.Valid(written) {
				t.Fatalf("%s, %v", written, e)
			}
		}
		e := errorOf(err)
		answer := wire.AppendError(nil, call.ID, e)
		if !rawjson.Valid(answer) || bytes.ContainsAny(answer, "\r\n") {
			t.Fatalf("%q is answered with %q", raw, answer)
		}
		if len(answer) > 4096 {
			t.Fatalf("an answer of %d bytes", len(answer))
		}
	})
}

// Answers and frames of agents are read without a panic, and their errors can be passed on in both bindings.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"jsonrpc":"2.0","id":1,"result":{"kind":"message","messageId":"m","parts":[]}}`))
	f.Add(404, []byte(`{"error":{"code":404,"status":"NOT_FOUND","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t"}}]}}`))
	f.Add(500, []byte(`{"code":-32603,"message":"m","data":[{"@type":"google.rpc.BadRequest","fieldViolations":[{"field":"f","description":"d"}]}]}`))
	f.Fuzz(func(t *testing.T, status int, raw []byte) {
		_, responseErr := lenient.Response(raw)
		for _, v := range allVersions {
			event, err := lenient.Event(v, raw)
			if set := (event != wire.StreamResponse{}); set == (err != nil) {
				t.Fatalf("%s: %+v, %v", raw, event, err)
			}
		}
		for _, err := range []error{responseErr, lenient.HTTPError(status, raw)} {
			if err == nil {
				continue
			}
			e := *errorOf(err)
			back := errorOf(second(lenient.Response(wire.AppendError(nil, nil, &e))))
			if e.Reason() != "" {
				if diff := cmp.Diff(&e, back, cmpopts.IgnoreFields(wire.Error{}, "Details", "Status", "Err"), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", raw, diff)
				}
			}
			if body := wire.AppendHTTPError(nil, wire.V1, &e); !rawjson.Valid(body) {
				t.Fatalf("%s becomes %s", raw, body)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Ids come out of a path as they went in, and no path is read as two things.
func FuzzPaths(f *testing.F) {
	f.Add("t", "p", "/tasks/t:cancel")
	f.Add("a:cancel", "..", "/v1/tasks/a%3Acancel/pushNotificationConfigs/p")
	f.Add("/", "%2F", "/message:send")
	f.Fuzz(func(t *testing.T, task, config, path string) {
		target, allow, found := wire.Match("GET", path)
		if found && allow != "" || !found && target != (wire.Target{Version: target.Version}) {
			t.Fatalf("%q is %+v, allow %q", path, target, allow)
		}
		if task == "" || config == "" {
			return
		}
		for _, v := range []wire.Version{wire.V1, wire.V03HTTP} {
			verb, path := wire.Path(v, wire.MethodGetPushConfig, task, config)
			u, err := url.Parse("http://h.example" + path)
			if err != nil {
				t.Fatal(err)
			}
			got, _, found := wire.Match(verb, u.EscapedPath())
			if want := (wire.Target{Method: wire.MethodGetPushConfig, Version: v, TaskID: task, ConfigID: config}); !found || got != want {
				t.Fatalf("%q %q becomes %s, read as %+v", task, config, u, got)
			}
		}
	})
}

package wire_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/jsonschema"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// A sample is one value in the versions that can carry it without loss.
type sample struct {
	Type string          `json:"type"`
	V1   json.RawMessage `json:"1.0"`
	V03  json.RawMessage `json:"0.3"`
	HTTP json.RawMessage `json:"0.3 HTTP+JSON"`
}

func (s *sample) versions() map[wire.Version]json.RawMessage {
	all := map[wire.Version]json.RawMessage{}
	for v, raw := range map[wire.Version]json.RawMessage{wire.V1: s.V1, wire.V03: s.V03, wire.V03HTTP: s.HTTP} {
		if raw != nil {
			all[v] = raw
		}
	}
	return all
}

var types = []any{
	wire.AgentCard{}, wire.Task{}, wire.Message{}, wire.StreamResponse{}, wire.SendMessageResponse{}, wire.SendMessageRequest{}, wire.GetTaskRequest{},
	wire.ListTasksRequest{}, wire.ListTasksResponse{}, wire.CancelTaskRequest{}, wire.SubscribeToTaskRequest{}, wire.TaskPushNotificationConfig{},
	wire.GetTaskPushNotificationConfigRequest{}, wire.DeleteTaskPushNotificationConfigRequest{}, wire.ListTaskPushNotificationConfigsRequest{},
	wire.ListTaskPushNotificationConfigsResponse{}, wire.GetExtendedAgentCardRequest{},
}

// newValue returns a pointer to a new value of the named type.
func newValue(t *testing.T, name string) any {
	t.Helper()
	for _, v := range types {
		if typ := reflect.TypeOf(v); typ.Name() == name {
			return reflect.New(typ).Interface()
		}
	}
	t.Fatalf("no type %q", name)
	return nil
}

func samples(t testing.TB) map[string]sample {
	t.Helper()
	files, err := filepath.Glob("testdata/samples/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	all := map[string]sample{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s sample
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	}
	return all
}

// Each version of a sample is read, strictly, and written in each of its versions.
func TestSamplesInEveryVersion(t *testing.T) {
	t.Parallel()
	strict := wire.NewReader(wire.Limits{Bytes: 1 << 20, Depth: 50, Count: 100})
	lenient := wire.NewLenientReader(wire.Limits{})
	for name, s := range samples(t) {
		for from, raw := range s.versions() {
			for _, r := range []*wire.Reader{strict, lenient} {
				value := newValue(t, s.Type)
				if err := r.Read(from, raw, value); err != nil {
					t.Errorf("%s of %s: %v", name, from, err)
					continue
				}
				for to, want := range s.versions() {
					got, err := wire.Append(nil, to, value)
					if err != nil {
						t.Errorf("%s of %s as %s: %v", name, from, to, err)
						continue
					}
					if !rawjson.Equal(got, want) {
						t.Errorf("%s of %s as %s:\n got %s\nwant %s", name, from, to, got, rawjson.Compact(want))
					}
				}
			}
		}
	}
}

// Samples fit the official schemas. That of 1.0 is made from the proto: unknown members are refused.
func TestSamplesFitTheSchemas(t *testing.T) {
	t.Parallel()
	schemas := officialSchemas(t)
	for name, s := range samples(t) {
		for v, raw := range s.versions() {
			if v != wire.V03HTTP { // 0.3's proto has no JSON schema
				schemas.check(t, name, v, s.Type, raw)
			}
		}
	}
}

// Whatever shape a sample has is read in every version: agents mix them (LangGraph, for example).
func TestShapesOfOneVersionInAnother(t *testing.T) {
	t.Parallel()
	lenient := wire.NewLenientReader(wire.Limits{})
	for name, s := range samples(t) {
		if s.V03 == nil || s.Type == "SendMessageRequest" || strings.HasPrefix(name, "push-") || name == "message-parts" {
			continue // blocking, the names of ids and wrapped data depend on the version
		}
		value := newValue(t, s.Type)
		if err := lenient.Read(wire.V1, s.V03, value); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := wire.Append(nil, wire.V1, value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !rawjson.Equal(got, s.V1) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, rawjson.Compact(s.V1))
		}
	}
}

type schemas map[wire.Version]json.RawMessage

// officialSchemas returns both official schemas with their definitions under $defs. The bundle of 1.0 names its
// definitions by titles and refers to them by file names.
func officialSchemas(t *testing.T) schemas {
	t.Helper()
	folder := os.Getenv("APBRIDGE_SPECS")
	if folder == "" {
		t.Skip("APBRIDGE_SPECS is not set: it names the folder of the official documents")
	}
	all := schemas{}
	for v, file := range map[wire.Version]string{wire.V1: "a2a-1.0.0.schema.json", wire.V03: "a2a-0.3.0.schema.json"} {
		raw, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(".jsonschema.json", "", `"lf.a2a.v1.`, `"#/definitions/`, `"google.protobuf.`, `"#/definitions/`).Replace(string(raw))
		var doc struct {
			Definitions map[string]json.RawMessage `json:"definitions"`
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		named := map[string]json.RawMessage{}
		for name, d := range doc.Definitions {
			d, err = rawjson.Without(d, "$schema", "$id")
			if err != nil {
				t.Fatal(err)
			}
			named[strings.ReplaceAll(name, " ", "")] = d
		}
		if all[v], err = json.Marshal(named); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// legacyNames are the definitions of 0.3 for our types.
var legacyNames = map[string]string{
	"SendMessageRequest":                      "MessageSendParams",
	"SendMessageResponse":                     "SendMessageSuccessResponse/properties/result",
	"StreamResponse":                          "SendStreamingMessageSuccessResponse/properties/result",
	"GetTaskRequest":                          "TaskQueryParams",
	"CancelTaskRequest":                       "TaskIdParams",
	"SubscribeToTaskRequest":                  "TaskIdParams",
	"GetTaskPushNotificationConfigRequest":    "GetTaskPushNotificationConfigParams",
	"DeleteTaskPushNotificationConfigRequest": "DeleteTaskPushNotificationConfigParams",
	"ListTaskPushNotificationConfigsRequest":  "ListTaskPushNotificationConfigParams",
	"ListTaskPushNotificationConfigsResponse": "ListTaskPushNotificationConfigSuccessResponse/properties/result",
}

func (s schemas) check(t *testing.T, name string, v wire.Version, typ string, raw json.RawMessage) {
	t.Helper()
	if legacy, ok := legacyNames[typ]; ok && v == wire.V03 {
		typ = legacy
	}
	if rawjson.Get(s[v], strings.Split(typ, "/")[0]) == nil {
		t.Fatalf("the schema of %s has no %s", v, typ)
	}
	schema := json.RawMessage(`{"$ref":"#/definitions/` + typ + `","definitions":` + string(s[v]) + `}`)
	if problem := jsonschema.Problem(schema, raw); problem != "" {
		t.Errorf("%s of %s does not fit the schema: %s\n%s", name, v, problem, rawjson.Compact(raw))
	}
}

// A schema that cannot be used would refuse nothing.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	all := officialSchemas(t)
	for v, raw := range map[wire.Version]string{wire.V1: `{"id":"t","kind":"task"}`, wire.V03: `{"id":"t"}`} {
		schema := json.RawMessage(`{"$ref":"#/definitions/Task","definitions":` + string(all[v]) + `}`)
		if jsonschema.Problem(schema, json.RawMessage(raw)) == "" {
			t.Errorf("the schema of %s takes %s", v, raw)
		}
	}
}

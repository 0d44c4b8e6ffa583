package config

import (
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const exampleFile = "../config.example.yaml"

func TestExampleFileHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := Load(Options{File: exampleFile, Dialects: []string{"taskstep", "threadrun"}})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.DefaultAgent = "legacy" // derived, because there is one agent
	agent := DefaultAgent()
	agent.URL = "http://127.0.0.1:8000"
	want.Agents["legacy"] = agent
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("config.example.yaml (-defaults +file):\n%s", diff)
	}
}

func TestExampleFileHasEveryKey(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, "", reflect.TypeFor[Config](), doc.Content[0])
}

// wantKeys fails for every key of the struct that the mapping lacks.
func wantKeys(t *testing.T, key string, typ reflect.Type, n *yaml.Node) {
	t.Helper()
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		values[n.Content[i].Value] = n.Content[i+1]
	}
	for i, name := range fieldNames(typ) {
		value, ok := values[name]
		if !ok {
			t.Errorf("%s is not in config.example.yaml", join(key, name))
			continue
		}
		switch field := typ.Field(i).Type; {
		case field.Kind() == reflect.Struct:
			wantKeys(t, join(key, name), field, value)
		case name == "agents":
			wantKeys(t, "agents.legacy", agentType, value.Content[1])
		}
	}
}

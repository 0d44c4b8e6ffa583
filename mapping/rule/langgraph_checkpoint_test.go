package rule

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

func TestRunFacts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mostFacts)
	for name, c := range map[string]struct {
		config, metadata string
		from             string
		attempt          int
		want             string
	}{
		"nothing":                  {want: `{"run_attempt":1}`},
		"metadata":                 {metadata: `{"graph_id":"agent","note":{"a":[1]},"n":null}`, want: `{"graph_id":"agent","note":{"a":[1]},"n":null,"run_attempt":1}`},
		"a further attempt":        {attempt: 3, want: `{"run_attempt":3}`},
		"plain configurable":       {config: `{"configurable":{"user_id":"ada","n":1.50,"on":true},"tags":["t"]}`, want: `{"user_id":"ada","n":1.50,"on":true,"run_attempt":1}`},
		"other configurable":       {config: `{"configurable":{"list":[1],"map":{},"none":null,"__internal":"x"}}`, want: `{"run_attempt":1}`},
		"names of a place":         {config: `{"configurable":{"checkpoint_id":"c","checkpoint_ns":"","thread_ts":"t"}}`, want: `{"run_attempt":1}`},
		"credentials by name":      {config: `{"configurable":{"openai_api_key":"k","Password":"p","session-token":"abcdefghijklmnopqrstuvwxyz"}}`, want: `{"run_attempt":1}`},
		"a credential by its form": {config: `{"configurable":{"model":"m","extra":"sk-proj-AbCdEfGhIjKlMnOpQrStUvWx1234"}}`, want: `{"model":"m","run_attempt":1}`},
		"metadata over configured": {config: `{"configurable":{"a":1,"b":1}}`, metadata: `{"a":2}`, want: `{"a":2,"b":1,"run_attempt":1}`},
		"an earlier checkpoint":    {config: `{"configurable":{"checkpoint_id":"d"}}`, from: "c", want: `{"checkpoint_id":"c","run_attempt":1}`},
		"what is too long":         {config: `{"configurable":{"a":"` + long + `","b":1}}`, metadata: `{"c":"` + long + `","d":1}`, want: `{"b":1,"d":1,"run_attempt":1}`},
		"config that is no object": {config: `[]`, metadata: `1`, want: `{"run_attempt":1}`},
	} {
		run := &mapping.Run{Metadata: []byte(c.metadata), Attempt: c.attempt, Options: mapping.RunOptions{Config: []byte(c.config), Checkpoint: c.from}}
		if got := RunFacts(run); !rawjson.Equal(got, []byte(c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCheckpointMetadata(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		checkpoint mapping.Checkpoint
		want       string
	}{
		"of a run": {
			mapping.Checkpoint{Source: "loop", Step: 2, RunID: "r", Facts: []byte(`{"a":1,"b":1,"step":9}`), Metadata: []byte(`{"b":2,"source":"x"}`)},
			`{"a":1,"b":2,"source":"loop","step":2,"parents":{},"thread_id":"t","run_id":"r"}`,
		},
		"of an update":                 {mapping.Checkpoint{Source: "update", AsNode: "n"}, `{"source":"update","step":0,"parents":{},"thread_id":"t","as_node":"n"}`},
		"an agent's that is no object": {mapping.Checkpoint{Source: "loop", Metadata: []byte(`[1]`)}, `{"source":"loop","step":0,"parents":{},"thread_id":"t"}`},
	} {
		if got := CheckpointMetadata("t", c.checkpoint); !rawjson.Equal(got, []byte(c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func inForce() *Config {
	c := Default()
	a := DefaultAgent()
	a.URL = "http://127.0.0.1:8000"
	c.Agents = map[string]Agent{"legacy": a}
	c.Auth.Keys = []Key{{ID: "alice", Key: "alice-0123456789abcdef"}, {ID: "bob", Key: "bob-0123456789abcdef"}}
	return c
}

func TestTakeNamesChangedKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		change        func(c *Config)
		keys, restart []string
	}{
		{"nothing", func(*Config) {}, nil, nil},
		{"a limit", func(c *Config) { c.Limits.MaxJSONDepth = 7 }, []string{"limits.max_json_depth"}, nil},
		{"an agent comes", func(c *Config) { c.Agents["second"] = c.Agents["legacy"] }, []string{"agents.second"}, nil},
		{"an agent's header", func(c *Config) {
			a := c.Agents["legacy"]
			a.Headers = map[string]Secret{"Authorization": "Bearer hush"}
			c.Agents = map[string]Agent{"legacy": a}
		}, []string{"agents.legacy.headers.Authorization"}, nil},
		{"a key goes, one is another", func(c *Config) { c.Auth.Keys = []Key{{ID: "bob", Key: "another-0123456789abcdef"}} },
			[]string{"auth.keys.alice", "auth.keys.bob.key"}, nil},
		{"keys in another order", func(c *Config) { c.Auth.Keys[0], c.Auth.Keys[1] = c.Auth.Keys[1], c.Auth.Keys[0] }, nil, nil},
		{"the address", func(c *Config) { c.Listen, c.CORS.Origins = "127.0.0.1:9000", []string{"loopback"} }, []string{"cors.origins"}, []string{"listen"}},
		{"the index", func(c *Config) { c.Store.Index.Timeout = 1 }, nil, []string{"store.index.timeout"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			read := inForce()
			tt.change(read)
			got, err := inForce().Take(read, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{tt.keys, tt.restart}, [][]string{got.Keys, got.Restart}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTakeKeepsKeysThatNeedARestart checks every key of atStart, so that no change is applied partially.
func TestTakeKeepsKeysThatNeedARestart(t *testing.T) {
	t.Parallel()
	now, read := inForce(), inForce()
	read.Listen, read.Admin, read.TLS, read.SecureDelete = "127.0.0.1:9000", "127.0.0.1:9001", TLS{Cert: "c.pem"}, true
	read.Database, read.Synchronous, read.ShutdownGrace = "other.db", "normal", 1
	read.Limits.Database, read.Limits.Crons, read.Limits.MaxJSONDepth = 1<<20, 1, 7
	read.Encryption.Keys = []Secret{"NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDU="}
	read.Store.VectorCache, read.Audit.File = 1, "audit.log"
	got, err := now.Take(read, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := inForce()
	want.Limits.MaxJSONDepth = 7
	if !reflect.DeepEqual(want, got.Config) {
		t.Errorf("in force: %+v", got.Config)
	}
	if got.Keys[0] != "limits.max_json_depth" || len(got.Keys) != 1 {
		t.Errorf("changed: %v", got.Keys)
	}
	for _, key := range atStart {
		if !slices.ContainsFunc(got.Restart, func(changed string) bool { return changed == key || strings.HasPrefix(changed, key+".") }) {
			t.Errorf("%s is not changed here, so the test does not show whether it is kept", key)
		}
	}
}

// TestTakeValidatesAgainstTheOldAddress uses a file that is valid for the address in it, which is not the one in use.
func TestTakeValidatesAgainstTheOldAddress(t *testing.T) {
	t.Parallel()
	now, read := inForce(), inForce()
	now.Listen, read.Auth.Keys = "0.0.0.0:8080", nil
	if _, err := now.Take(read, Options{}); err == nil || !strings.Contains(err.Error(), "0.0.0.0:8080 can be reached from other machines, but auth.keys is empty") {
		t.Errorf("error %v", err)
	}
}

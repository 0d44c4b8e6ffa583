package config

import (
	"testing"
	"time"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// TestPrincipalByID checks that background work has the owner's permissions from the configuration, without those that
// only a token carries.
func TestPrincipalByID(t *testing.T) {
	t.Parallel()
	auth := Auth{
		Keys: []Key{
			{ID: "alice", Tenant: "acme", Agents: []string{"a"}, Namespaces: []string{"u/{id}"}, Scope: "own"},
			{ID: "gone", Tenant: "acme", Expires: "2020-01-01T00:00:00Z"},
			{ID: "later", Tenant: "acme", Expires: "2030-01-01T00:00:00Z"},
		},
		JWT: []JWT{
			{ID: "corp", Tenant: "acme", Scope: "own", Namespaces: []string{"u/{id}"}},
			{ID: "free", Scope: "tenant", Claims: Claims{Tenant: "t", Agents: "a", Namespaces: "n"}},
			{ID: "some", Scope: "tenant", Agents: []string{"a"}, Claims: Claims{Tenant: "t", Agents: "a"}},
		},
		Certificates: []Certificate{{ID: "builder", Tenant: "acme", Rights: []string{"run"}}},
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		id, tenant string
		want       *mapping.Principal // nil if it is unknown
	}{
		{"alice", "acme", &mapping.Principal{ID: "alice", Tenant: "acme", Agents: []string{"a"}, Own: true, Namespaces: [][]string{{"u", "alice"}}}},
		{"alice", "other", nil},
		{"gone", "acme", nil},
		{"later", "acme", &mapping.Principal{ID: "later", Tenant: "acme"}},
		{"nobody", "acme", nil},
		{"builder", "acme", &mapping.Principal{ID: "builder", Tenant: "acme", Rights: []string{"run"}}},
		{"corp:a.b/c%", "acme", &mapping.Principal{ID: "corp:a.b/c%", Tenant: "acme", Own: true, Namespaces: [][]string{{"u", "corp:a%2Eb%2Fc%25"}}}},
		{"corp:alice", "other", nil},
		{"corporation", "acme", nil},
		{"free:alice", "any", &mapping.Principal{ID: "free:alice", Tenant: "any", Agents: []string{}, Namespaces: [][]string{}}},
		{"some:alice", "any", &mapping.Principal{ID: "some:alice", Tenant: "any", Agents: []string{"a"}}},
	} {
		got, known := auth.Principal(tt.id, tt.tenant, now)
		if known != (tt.want != nil) {
			t.Errorf("%s of %s is known: %v", tt.id, tt.tenant, known)
			continue
		}
		if tt.want != nil {
			if diff := cmp.Diff(*tt.want, got); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", tt.id, tt.tenant, diff)
			}
		}
	}
}

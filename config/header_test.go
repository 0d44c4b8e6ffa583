package config

import "testing"

func TestHeaderFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ value, id, tenant, want string }{
		{"Bearer x", "alice", "acme", "Bearer x"},
		{"{principal.id}", "alice", "", "alice"},
		{"{principal.tenant}/{principal.id}/{principal.id}", "alice", "acme", "acme/alice/alice"},
		{"{principal.id}", "a b\r\nX: y\x00%é", "", "a%20b%0D%0AX:%20y%00%25%C3%A9"},
		{"{principal.id}", "a%20b", "", "a%2520b"},
		{"{principal.id}", "{principal.tenant}", "acme", "{principal.tenant}"},
		{"{principal.id}", "alice@example.com", "", "alice@example.com"},
		{`{"json": 1}`, "alice", "", `{"json": 1}`},
	} {
		if got, ok := Secret(tt.value).HeaderFor(tt.id, tt.tenant); got != tt.want || !ok {
			t.Errorf("%s for %s of %s: %q, %t", tt.value, tt.id, tt.tenant, got, ok)
		}
	}
	for _, value := range []Secret{"{principal.id}", "{principal.tenant}:{principal.id}", "{principal.tenant}"} {
		if got, ok := value.HeaderFor("", ""); ok {
			t.Errorf("%s without a principal: %q", value.Reveal(), got)
		}
	}
	if _, ok := Secret("{principal.id} {principal.tenant}").HeaderFor("alice", ""); ok {
		t.Error("a part of a value is sent")
	}
}

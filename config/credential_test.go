package config_test

import (
	"testing"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/credential"
)

// Credentials are hidden in a header, a key or a URL. The id of a principal is shown.
func TestCredentials(t *testing.T) {
	t.Parallel()
	headers := map[string]config.Secret{"Authorization": "Bearer canary-1", "Cookie": "session=canary-2", "X-User": "{principal.id}"}
	agent := config.Agent{URL: "http://me:canary-3@host", Headers: headers}.Credentials()
	index := config.Index{URL: "http://me:canary-3@host", Headers: headers, Key: "canary-4"}.Credentials()
	const text = "canary-1 canary-2 canary-3 canary-4 {principal.id}"
	if got := agent.Hide(text); got != "[hidden] [hidden] [hidden] canary-4 {principal.id}" {
		t.Errorf("of an agent: %s", got)
	}
	if got := index.Hide(text); got != "[hidden] [hidden] [hidden] [hidden] {principal.id}" {
		t.Errorf("of an index: %s", got)
	}
	if credential.HiddenText != config.Secret("x").String() {
		t.Error("a secret is printed in another form")
	}
}

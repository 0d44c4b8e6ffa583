package taskstep

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
)

// TestProgramsFindTheAgent checks the routes in programs for the default agent and another one, with keys and without.
func TestProgramsFindTheAgent(t *testing.T) {
	t.Parallel()
	for at, asked := range map[string]adapter.SnippetParams{
		"http://b.test":          {URL: "http://b.test", Agent: "a", Words: "hi", Default: true},
		"http://b.test/agents/a": {URL: "http://b.test", Agent: "a", Words: "hi", Keys: true},
	} {
		for _, c := range code(asked) {
			if strings.Contains(c.Text, "APBRIDGE_KEY") != asked.Keys {
				t.Errorf("%s, keys %v:\n%s", c.ID, asked.Keys, c.Text)
			}
			if want := map[string]string{"curl": at + "/ap/v1/agent/tasks", "Python": `host="` + at + `")`}[c.Language]; !strings.Contains(c.Text, want) {
				t.Errorf("%s lacks %s:\n%s", c.ID, want, c.Text)
			}
		}
	}
}

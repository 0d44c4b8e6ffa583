package inspect

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

// gone is a service whose only run was made of an agent that is not configured any more.
type gone struct{}

func (gone) SearchAssistants(context.Context, adapter.AgentQuery) ([]mapping.Assistant, int, error) {
	return []mapping.Assistant{{Graph: "a", Configured: true}}, 1, nil
}

func (gone) GetRun(context.Context, adapter.RunRef) (*mapping.Run, error) {
	return &mapping.Run{ID: "r", Agent: "gone", Options: mapping.RunOptions{Input: []byte(`"` + strings.Repeat("x", editMost) + `"`)}}, nil
}

// TestAnAgentThatIsGoneIsNotReplaced: the form by which its run is made again names it, and no other in its place.
func TestAnAgentThatIsGoneIsNotReplaced(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/inspect/runs/r/again", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	page := &rerun{starting: &starting{renderer: new(renderer)}, names: &agentNames{gone{}}, runs: gone{}}
	if err := page.show(w, r); err != nil || !strings.Contains(w.Body.String(), `<option value="gone" selected>`) {
		t.Errorf("%v %s", err, w.Body)
	}
}

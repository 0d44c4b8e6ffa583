package a2a

import (
	"net/http"
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/google/go-cmp/cmp"
)

// before is a bridge in front of an A2A agent.
func before(t *testing.T, agent *adaptertest.A2AAgent) client {
	t.Helper()
	b := rig.Configured(t, `
webhooks: {allow_private_networks: true}
agents: {agent: {url: $AGENT, dialect: a2a}}
`, map[string]http.Handler{"agent": agent})
	return client{b, "agent"}
}

// TestTextOfAnA2AAgentArrivesOnce checks that clients of each kind get the text of growing artifacts in pieces, and once,
// also if the agent's stream breaks.
func TestTextOfAnA2AAgentArrivesOnce(t *testing.T) {
	t.Parallel()
	for _, agent := range []*adaptertest.A2AAgent{{}, {Live: true, CutAfter: 6}, {Live: true, CutAfter: 11}} {
		c := before(t, agent)
		frames := c.stream("SendStreamingMessage", message("m", "type", ""), 0)
		task := c.at(frames[0], "task.id")
		got := added(t, nil, frames)
		if diff := cmp.Diff(sumOf(t, c.task(task)), got, cmp.AllowUnexported(sum{})); diff != "" || got.state != "TASK_STATE_COMPLETED" {
			t.Errorf("the task is %s (-GetTask +stream):\n%s", got.state, diff)
		}
		pieces, reports := 0, []string{}
		for _, f := range frames {
			if f.At("result.artifactUpdate.append") == true {
				pieces++
			}
			if text := rig.TextOf(f.At("result.statusUpdate.status.message.parts.0.text")); text != "" {
				reports = append(reports, text)
			}
		}
		if pieces < 4 || !slices.Contains(reports, "Thinking") {
			t.Errorf("%d pieces, and the reports %q", pieces, reports)
		}
		_, list := c.Stream("POST", "/runs/stream", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"type"}]},"stream_mode":"messages-tuple"}`, 0)
		texts, chunks := map[string]string{}, 0
		for _, f := range list {
			if f.Event == "messages" {
				texts[rig.TextOf(f.At("0.id"))] += rig.TextOf(f.At("0.content"))
				chunks++
			}
		}
		var said []string
		for _, text := range texts {
			said = append(said, text)
		}
		slices.Sort(said)
		if want := []string{"A cat ha ha sleeps.", "A fox jumps over the dog.", "Thinking", "Writing more"}; !slices.Equal(said, want) || chunks < 8 {
			t.Errorf("%d chunks make up %q", chunks, said)
		}
	}
}

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// langgraphVariable names the URL of a LangGraph server to compare with. Its graph
// "chat" is that of the end-to-end tests: two nodes that answer at once.
const langgraphVariable = "APBRIDGE_E2E_LANGGRAPH"

// beside runs the bridge's runs, of three steps of an agent's process, beside those of
// a LangGraph server, which executes its graph itself and keeps nothing.
func (b *bench) beside(t *testing.T) {
	url := os.Getenv(langgraphVariable)
	if url == "" {
		b.table.skip("runs/s ÷ LangGraph JS server", langgraphVariable+" is not set")
		return
	}
	for _, row := range []struct {
		clients     int
		floor, goal float64
	}{{1, 200, 400}, {64, 25, 40}} {
		c := b.compare(t, "run", row.clients, way{"langgraph", benchGraph(url), nil}, way{"full", benchWait(b.full.url), b.full})
		b.table.atLeast(fmt.Sprintf("runs/s, %d clients, full ÷ LangGraph JS", row.clients), c.ratio("full", "langgraph", benchSample.rate), "×", row.floor, row.goal)
	}
}

// benchGraph is one run of a LangGraph server's own.
func benchGraph(base string) benchRun {
	return func(ctx context.Context, c *http.Client) (time.Duration, error) {
		var values benchAnswer
		err := benchPost(ctx, c, base+"/runs/wait", `{"assistant_id":"chat","input":{"messages":[{"role":"user","content":"hi"}]}}`, &values)
		if err != nil {
			return 0, err
		}
		if n := len(values.Messages); n == 0 || !strings.Contains(values.Messages[n-1].Content, "hi") {
			return 0, fmt.Errorf("the graph did not answer: %+v", values)
		}
		return 0, nil
	}
}

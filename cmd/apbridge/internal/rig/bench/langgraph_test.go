package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// langgraphVariable names the URL of a LangGraph server to compare with. Its graph "chat" comes from the end-to-end
// tests and has two nodes that answer at once.
const langgraphVariable = "APBRIDGE_E2E_LANGGRAPH"

// langgraph compares runs of the bridge, with three steps of an agent process, with those of a LangGraph server, which
// executes its graph itself and stores nothing.
func (b *bench) langgraph(t *testing.T) {
	url := os.Getenv(langgraphVariable)
	if url == "" {
		b.table.skip("runs/s ÷ LangGraph JS server", langgraphVariable+" is not set")
		return
	}
	for _, clients := range []int{1, 64} {
		c := b.compare(t, "run", clients, b.through(benchWait, way{name: "langgraph", work: benchGraph(url)})...)
		what, ratio := fmt.Sprintf("runs/s, %d clients, ÷ LangGraph JS", clients), b.ratio(c, "langgraph", benchSample.rate)
		if clients == 64 {
			b.table.atLeast(what, ratio, "×", 15, 40)
		} else {
			b.table.figure(what, ratio, "×")
		}
	}
}

// benchGraph is one run of a LangGraph server without the bridge.
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

package bridge

import (
	"context"
	"fmt"
	"net/http"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/front"
	"github.com/apbridge/apbridge/proxy"
	"github.com/apbridge/apbridge/proxy/engine"
)

// documents returns the handlers of the OpenAPI documents by path. A test compares the documents with the routes and
// responses.
func documents(dialects adapter.Dialects) map[string]http.Handler {
	paths := map[string]http.Handler{}
	for _, d := range dialects.Documents() {
		paths[d.Path()] = static(d.Text)
	}
	if threads, ok := paths["/openapi/threadrun.json"]; ok { // LangGraph's server has its document there
		paths["/openapi.json"] = threads
	}
	return paths
}

func static(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body) // the client may have left
	})
}

// pages returns the handlers of the HTML pages by path.
func (a *App) pages() (map[string]http.Handler, error) {
	return front.Pages(front.Options{
		Version: Version(), Dialects: a.dialects, Config: a.engine.Config, Agent: shownBy(a.engine), Health: a.checkups, Answered: a.calls.Answered,
		Caller: callerOf, More: a.inspector.tab, Log: a.log.Named("pages"),
	})
}

// shownBy avoids a non-nil interface for a missing agent.
func shownBy(e *engine.Engine) func(name string) front.Agent {
	return func(name string) front.Agent {
		agent, ok := e.Agent(name)
		if !ok {
			return nil
		}
		return agent
	}
}

func callerOf(ctx context.Context) front.Caller { return front.Caller(proxy.VisitOf(ctx)) }

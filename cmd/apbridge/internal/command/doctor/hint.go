package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/go-resty/resty/v2"
)

// hintLimit is the maximum number of bytes that are read of a response.
const hintLimit = 64 << 10

// strangers are servers that are often mistaken for agents. Each is recognised by its response to a GET of a path.
var strangers = []struct {
	path string
	is   func(body []byte) bool
	says string
}{
	{"/v1/models", object("data"), "It is the API of a model (OpenAI-compatible), not an agent. Use the URL of the agent that calls the model."},
	{"/.well-known/agent-card.json", object("skills"), "It speaks A2A, which this bridge does not support. Use an Agent Protocol agent or a LangGraph server."},
	{"/.well-known/agent.json", object("skills"), "It speaks A2A, which this bridge does not support. Use an Agent Protocol agent or a LangGraph server."},
}

func object(member string) func([]byte) bool {
	return func(body []byte) bool {
		var o map[string]json.RawMessage
		return json.Unmarshal(body, &o) == nil && o[member] != nil
	}
}

// Hints returns sentences about a server that does not answer like an agent: its probable kind and the probable
// location of the agent.
func Hints(ctx context.Context, name string, c config.Agent, limits config.Limits, err error) (list []string) {
	if errors.Is(err, adapter.ErrNoSuchGraph) {
		return []string{fmt.Sprintf("Without a configuration, the name before the URL selects the graph: --agent GRAPH=%s.", console.WithoutParts(c.URL))}
	}
	at, bad := url.Parse(c.URL)
	if bad != nil || mapping.Classify(err).Code != mapping.CodeBadUpstream {
		return nil
	}
	root, there := at.Scheme+"://"+at.Host, c
	if there.Dialect != "auto" {
		there.Dialect = "auto"
		if dialect, err := Detected(ctx, Upstream(name, there, limits)); err == nil {
			return []string{fmt.Sprintf("An agent that speaks %s answers there. Set agents.%s.dialect to %s.", dialect, name, dialect)}
		}
	}
	if strings.Trim(at.Path, "/") != "" {
		there.URL, there.Dialect = root, "auto"
		if dialect, err := Detected(ctx, Upstream(name, there, limits)); err == nil {
			return []string{fmt.Sprintf("An agent that speaks %s answers at %s. Use that URL.", dialect, root)}
		}
	}
	client := briefClient()
	for _, s := range strangers {
		if status, _, body := fetch(ctx, client, root+s.path); status == http.StatusOK && s.is(body) {
			return append(list, s.says)
		}
	}
	if status, kind, body := fetch(ctx, client, c.URL); status != 0 {
		list = append(list, fmt.Sprintf("GET %s answers %d%s.", c.URL, status, described(kind, body)))
	}
	return list
}

// briefly is the timeout of requests for optional information.
const briefly = 5 * time.Second

// briefClient returns a client for such requests.
func briefClient() *resty.Client {
	return resty.New().SetTimeout(briefly).SetDoNotParseResponse(true).SetRedirectPolicy(resty.NoRedirectPolicy())
}

// fetch sends a GET without credentials. status is 0 if there was no response.
func fetch(ctx context.Context, client *resty.Client, at string) (status int, kind string, body []byte) {
	res, err := client.R().SetContext(ctx).Get(at)
	if res == nil || res.RawBody() == nil {
		return 0, "", nil
	}
	defer res.RawBody().Close()
	if err != nil && res.StatusCode() == 0 {
		return 0, "", nil
	}
	body, _ = io.ReadAll(io.LimitReader(res.RawBody(), hintLimit)) // a partial body may suffice
	return res.StatusCode(), res.Header().Get("Content-Type"), body
}

var title = regexp.MustCompile(`(?is)<title[^>]*>([^<]{1,80})`)

// described returns the part of a hint that follows the status: the kind of body, and the title of a page.
func described(kind string, body []byte) string {
	kind, _, _ = strings.Cut(kind, ";")
	if kind == "" {
		return ""
	}
	if found := title.FindSubmatch(body); found != nil {
		return fmt.Sprintf(" with a page titled %q", strings.Join(strings.Fields(string(found[1])), " "))
	}
	return " with " + strings.ToValidUTF8(fmt.Sprintf("%.60q", kind), "")
}

// Unfit returns an error in the style of doctor, with the reason why an agent cannot be used and the hints.
func Unfit(err error, hints []string) error {
	return errors.New(strings.Join(append([]string{mapping.Classify(err).Message}, hints...), " "))
}

package front

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// document holds the routes of an OpenAPI document in order.
type document struct {
	Name, Path, About string
	perAgent          string // path prefix of its routes for one agent, with "{agent}" for the name, or ""
	Groups            []*group
}

// group holds the routes with one tag.
type group struct {
	Tag    string
	Routes []route
}

// route is one operation.
type route struct {
	Method, Path, Does string
	query              string          // an example query with its question mark
	body               json.RawMessage // an example body, or nil
	form               bool            // the body is a form with a file
	streams, socket    bool            // the response is an event stream, or a WebSocket
}

// operation has the members of an operation that are used here.
type operation struct {
	Summary     string
	Tags        []string
	Parameters  []struct{ Name, In, Example string }
	RequestBody struct {
		Content map[string]struct{ Example json.RawMessage }
	}
	Responses map[string]struct{ Content map[string]struct{} }
}

// agentPart is replaced by an agent's name in the URL of a server.
const agentPart = "{agent}"

// below returns the path prefix of the routes for an agent, or "" if there is none.
func (d document) below(agent string) string { return strings.ReplaceAll(d.perAgent, agentPart, agent) }

// PerAgent returns the path prefix with NAME for the agent.
func (d document) PerAgent() string { return d.below("NAME") }

func readRoutes(d adapter.Document) (document, error) {
	doc := document{Name: d.Name, Path: strings.TrimPrefix(d.Path(), "/"), About: d.About}
	var top struct {
		Servers []struct{ URL string }
		Paths   json.RawMessage
	}
	if err := json.Unmarshal(d.Text, &top); err != nil {
		return doc, fmt.Errorf("the OpenAPI document %s: %w", d.Name, err)
	}
	for _, s := range top.Servers {
		if strings.Contains(s.URL, agentPart) {
			doc.perAgent = s.URL
		}
	}
	var bad error
	err := rawjson.EachMember(top.Paths, func(path rawjson.Quoted, operations json.RawMessage) {
		inner := rawjson.EachMember(operations, func(method rawjson.Quoted, text json.RawMessage) {
			var o operation
			if err := json.Unmarshal(text, &o); err != nil {
				bad = err
			}
			doc.add(path.Text(), method.Text(), o)
		})
		if inner != nil {
			bad = inner
		}
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return doc, fmt.Errorf("the OpenAPI document %s: %w", d.Name, err)
	}
	return doc, nil
}

func (d *document) add(path, method string, o operation) {
	tag := "Other"
	if len(o.Tags) > 0 {
		tag = o.Tags[0]
	}
	g := in(&d.Groups, func(g *group) bool { return g.Tag == tag }, func() *group { return &group{Tag: tag} })
	r := route{Method: strings.ToUpper(method), Path: path, Does: o.Summary, query: queryOf(o)}
	for kind, c := range o.RequestBody.Content {
		r.body, r.form = c.Example, kind == "multipart/form-data"
	}
	for status, answer := range o.Responses {
		_, stream := answer.Content["text/event-stream"]
		_, other := answer.Content["application/json"]
		r.streams = r.streams || stream && !other
		r.socket = r.socket || status == "101"
	}
	g.Routes = append(g.Routes, r)
}

func queryOf(o operation) string {
	var parts []string
	for _, p := range o.Parameters {
		if p.In == "query" && p.Example != "" {
			parts = append(parts, p.Name+"="+p.Example)
		}
	}
	if parts == nil {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}

// example returns a command line for the route. The variables of its path are shell variables.
func (r route) example(a adapter.SnippetParams, base string) string {
	at := inDoubleQuotes(base + r.Path + r.query)
	if r.socket {
		return strings.TrimRight("websocat "+strings.Replace(a.CurlKey(), "-H ", "-H=", 1)+strings.Replace(at, "http", "ws", 1), " ")
	}
	words := []string{"curl -s"}
	if r.streams {
		words[0] += "N"
	}
	if r.Method != "GET" && (r.Method != "POST" || r.body == nil && !r.form) {
		words = append(words, "-X "+r.Method)
	}
	words = append(words, at)
	if key := strings.TrimSpace(a.CurlKey()); key != "" {
		words = append(words, key)
	}
	switch {
	case r.form:
		words = append(words, "-F file=@notes.txt")
	case r.body != nil:
		body := strings.ReplaceAll(rawjson.CompactText(r.body), `"`+placeholder+`"`, adapter.Quoted(a.Agent))
		words = append(words, "-H 'content-type: application/json' \\\n  -d "+adapter.InShell(body))
	}
	return strings.Join(words, " ")
}

// inDoubleQuotes quotes a URL for the shell, with its {names} as variables.
func inDoubleQuotes(url string) string {
	if adapter.InShell(url) == url {
		return url
	}
	return `"` + strings.NewReplacer("{", "$", "}", "").Replace(url) + `"`
}

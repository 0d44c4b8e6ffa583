package front

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/adapter/page"
)

// homeBody has the data of the page /.
type homeBody struct {
	standing
	Agents    []listed
	First     *adapter.Snippet // nil for none
	Speaks    []string
	Documents []adapter.Document
}

// serveHome answers a browser with a page and other clients with equivalent JSON.
func (f *front) serveHome(w http.ResponseWriter, r *http.Request) {
	b := homeBody{standing: f.standing(r), Agents: f.agents(r), Documents: f.Dialects.Documents()}
	if !page.Wanted(r.Header) {
		f.writeJSON(w, r, b)
		return
	}
	b.First = f.first(asked(b.standing, b.Agents))
	b.Speaks = f.said(func(d adapter.Dialect) string { return d.Speaks })
	f.answer(w, r, f.home, page.View{Title: "apbridge", Here: "./", Body: b})
}

// homeJSON is the JSON of /.
type homeJSON struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Docs    string            `json:"docs"`
	OpenAPI map[string]string `json:"openapi"`
	Notice  string            `json:"notice,omitempty"`
	Agents  []agentJSON       `json:"agents"`
}

type agentJSON struct {
	Name    string     `json:"name"`
	Default bool       `json:"default"`
	Dialect string     `json:"dialect,omitempty"`
	State   State      `json:"state"`
	Message string     `json:"message,omitempty"`
	Asked   *time.Time `json:"asked_at,omitempty"`
}

func (f *front) writeJSON(w http.ResponseWriter, r *http.Request, b homeBody) {
	t := homeJSON{Name: "apbridge", Version: f.Version, Docs: b.URL + "/docs", OpenAPI: map[string]string{}, Notice: b.Notice, Agents: []agentJSON{}}
	for _, d := range b.Documents {
		t.OpenAPI[d.Name] = b.URL + d.Path()
	}
	for _, a := range b.Agents {
		one := agentJSON{Name: a.Name, Default: a.Default, Dialect: a.Dialect, State: a.Health.State, Message: a.Health.Message}
		if asked := a.Health.Asked.UTC().Truncate(time.Second); !a.Health.Asked.IsZero() {
			one.Asked = &asked
		}
		t.Agents = append(t.Agents, one)
	}
	body, err := json.Marshal(t)
	if err != nil {
		http.Error(w, "The answer could not be encoded.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	page.Send(w, r, append(body, '\n'))
}

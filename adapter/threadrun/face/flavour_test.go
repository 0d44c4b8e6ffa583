package face

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestFlavourOfAClient sends requests to which the two flavours respond differently, in the way of their clients. The
// Agent Protocol's Python client sends limit and offset and is only recognised by its User-Agent.
func TestFlavourOfAClient(t *testing.T) {
	t.Parallel()
	const bare, wrapped, missing, null = `[]`, `{"namespaces":[]}`, `404`, `null`
	list := func(body string) [2]string { return [2]string{"POST /store/namespaces", body} }
	read := func(query string) [2]string { return [2]string{"GET /store/items?" + query, ""} }
	for name, c := range map[string]struct {
		request [2]string
		headers map[string]string
		want    string
	}{
		"namespaces, Agent Protocol's client":     {list(`{"limit":100,"offset":0}`), map[string]string{"User-Agent": "OpenAPI-Generator/1.0.0/python"}, bare},
		"namespaces, langgraph-sdk":               {list(`{"limit":100,"offset":0}`), map[string]string{"User-Agent": "langgraph-sdk-py/0.4.3"}, wrapped},
		"namespaces, curl":                        {list(`{}`), nil, bare},
		"namespaces, by header":                   {list(`{"limit":100,"offset":0}`), map[string]string{"X-Apbridge-Flavour": "agentprotocol"}, bare},
		"namespaces, by parameter":                {[2]string{"POST /store/namespaces?flavour=agentprotocol", `{"limit":100,"offset":0}`}, nil, bare},
		"namespaces, by parameter over the agent": {[2]string{"POST /store/namespaces?flavour=langgraph", `{}`}, map[string]string{"User-Agent": "OpenAPI-Generator/1.0.0/python"}, wrapped},
		"item, langgraph-sdk":                     {read("namespace=a.b&key=x"), map[string]string{"User-Agent": "langgraph-sdk-py/0.4.3"}, null},
		"item, labels repeated":                   {read("namespace=a&namespace=b&key=x"), nil, missing},
		"item, Agent Protocol's client":           {read("namespace=a&key=x"), map[string]string{"User-Agent": "OpenAPI-Generator/1.0.0/python"}, missing},
		"item, by parameter":                      {read("namespace=a&key=x&flavour=agentprotocol"), nil, missing},
		"item, no such flavour":                   {read("namespace=a&key=x&flavour=mine"), nil, "422"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(c.request[0], " ")
			req, err := http.NewRequestWithContext(t.Context(), method, newFake().serve(t).URL+path, strings.NewReader(c.request[1]))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range c.headers {
				req.Header.Set(name, value)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			got := string(body)
			if res.StatusCode != http.StatusOK {
				got = strconv.Itoa(res.StatusCode)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

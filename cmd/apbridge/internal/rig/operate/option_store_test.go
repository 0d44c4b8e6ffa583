package operate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
	"github.com/apbridge/apbridge/proxy/store/archive"
)

const indexDims = 16

// embedding is a bridge with an index and a scripted endpoint of vectors.
type embedding struct {
	*rig.Bridge
	*embeddingtest.Endpoint
}

func newEmbedding(t *testing.T, keys string) embedding {
	t.Helper()
	e := embeddingtest.Serve(t, indexDims)
	block := strings.NewReplacer("$E", e.URL).Replace("store: {index: {dims: 16, embed: 'any:m', url: $E/v1, " + keys + "}}")
	return embedding{rig.Configured(t, block+rig.OneAgent, rig.Legacy()), e}
}

// put stores an item and waits until it is found by its meaning.
func (e embedding) put(t *testing.T, value string) {
	t.Helper()
	e.Do("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":`+value+`}`).Want(t, 204)
	rig.Eventually(t, "the item's vector", func() bool { return e.finds("feline") })
}

func (e embedding) finds(query string) bool {
	got := e.Do("POST", "/store/items/search", `{"namespace_prefix":["n"],"query":"`+query+`"}`)
	return got.Status == 200 && strings.Contains(got.String(), `"key":"k"`)
}

// wantRequest checks that a request to the endpoint is as expected.
func (e embedding) wantRequest(t *testing.T, what string, is func(embeddingtest.Request) bool) {
	t.Helper()
	if !slices.ContainsFunc(e.Asked(), is) {
		t.Errorf("%s is in no request: %+v", what, e.Asked())
	}
}

func wantLossy(t *testing.T, got rig.Answer, want string) {
	t.Helper()
	if lost := got.Header.Get("X-Apbridge-Unsupported"); lost != want {
		t.Errorf("X-Apbridge-Unsupported is %q, want %q", lost, want)
	}
}

// expiring starts a bridge with settings of store.ttl. Its agent "a" may write in the namespace n.
func expiring(t *testing.T, ttl string, agent http.Handler) keeper {
	t.Helper()
	return keeper{rig.Configured(t, "store: {ttl: {"+ttl+"}}\nagents: {a: {url: $A, memory: {namespaces: [n], allow_writes: true}}}", map[string]http.Handler{"a": agent})}
}

// times returns a column of the items in the database, by their keys.
func (k keeper) times(column string) map[string]int64 {
	k.T.Helper()
	var b bytes.Buffer
	if _, err := archive.Export(k.T.Context(), k.Cfg.Database, nil, &b, func(int64) {}); err != nil {
		k.T.Fatal(err)
	}
	times := map[string]int64{}
	for line := range strings.SplitSeq(b.String(), "\n") {
		var row struct {
			Items map[string]json.RawMessage
		}
		if json.Unmarshal([]byte(line), &row) != nil || row.Items == nil {
			continue
		}
		var key string
		var n int64
		if err := errors.Join(json.Unmarshal(row.Items["item_key"], &key), json.Unmarshal(row.Items[column], &n)); err != nil {
			k.T.Fatal(err, line)
		}
		times[key] = n
	}
	return times
}

// storeProofs has the proofs of keys about the long-term store.
var storeProofs = map[string]func(*testing.T){
	"store.agent": rig.ProvenBy("cmd/apbridge/internal/rig/operate", "TestItemsInTheAgentsStore"),
	"store.index.embed": func(t *testing.T) {
		const item, search = `{"namespace":["n"],"key":"k","value":{"t":"kitten"},"index":["t"]}`, `{"namespace_prefix":["n"],"query":"kitten"}`
		without := rig.Configured(t, rig.OneAgent, rig.Legacy())
		wantLossy(t, without.Do("PUT", "/store/items", item).Want(t, 204), "index;approximated")
		wantLossy(t, without.Do("POST", "/store/items/search", search).Want(t, 200, `"key":"k"`), "query;approximated")
		e := newEmbedding(t, "")
		wantLossy(t, e.Do("PUT", "/store/items", item).Want(t, 204), "")
		rig.Eventually(t, "the item's vector", func() bool { return e.finds("feline") })
		wantLossy(t, e.Do("POST", "/store/items/search", search).Want(t, 200, `"key":"k"`, `"score":1`), "")
		e.wantRequest(t, "the model", func(q embeddingtest.Request) bool { return q.Model == "m" })
		e.Do("PUT", "/store/items", strings.Replace(item, `["t"]`, `["t["]`, 1)).Want(t, 422, "index[0]")
	},
	"store.index.dims": func(t *testing.T) {
		e := newEmbedding(t, "")
		e.put(t, `{"t":"kitten"}`)
		wrong := rig.Configured(t, "store: {index: {dims: 17, embed: 'any:m', url: "+e.Endpoint.URL+"/v1}}"+rig.OneAgent, rig.Legacy())
		wrong.Do("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"t":"kitten"}}`).Want(t, 204)
		rig.Eventually(t, "the warning is logged", func() bool {
			return len(wrong.Logs.FilterMessageSnippet("could not be embedded").All()) > 0
		})
		wantLossy(t, wrong.Do("POST", "/store/items/search", `{"query":"kitten"}`).Want(t, 200, `"key":"k"`), "query;approximated")
	},
	"store.index.fields": func(t *testing.T) {
		e := newEmbedding(t, "fields: ['t[*]']")
		e.put(t, `{"t":["kitten","rain"],"u":"tea"}`)
		e.wantRequest(t, "each field", func(q embeddingtest.Request) bool { return slices.Equal(q.Texts, []string{"kitten", "rain"}) })
	},
	"store.index.url": func(t *testing.T) {
		e := newEmbedding(t, "")
		e.put(t, `{"t":"kitten"}`)
		e.wantRequest(t, "the path", func(q embeddingtest.Request) bool { return q.URI == "/v1/embeddings" })
	},
	"store.index.key": func(t *testing.T) {
		e := newEmbedding(t, "key: canary-key")
		e.put(t, `{"t":"kitten"}`)
		e.wantRequest(t, "the key", func(q embeddingtest.Request) bool { return q.Header.Get("Authorization") == "Bearer canary-key" })
	},
	"store.index.api_version": func(t *testing.T) {
		e := newEmbedding(t, "key: canary-key, api_version: '2024-10-21'")
		e.put(t, `{"t":"kitten"}`)
		e.wantRequest(t, "the version", func(q embeddingtest.Request) bool {
			return strings.HasSuffix(q.URI, "/openai/deployments/m/embeddings?api-version=2024-10-21") && q.Header.Get("Api-Key") == "canary-key"
		})
	},
	"store.index.headers": func(t *testing.T) {
		e := newEmbedding(t, "headers: {X-Team: blue}")
		e.put(t, `{"t":"kitten"}`)
		e.wantRequest(t, "the header", func(q embeddingtest.Request) bool { return q.Header.Get("X-Team") == "blue" })
	},
	"store.index.query_prefix": func(t *testing.T) {
		e := newEmbedding(t, "query_prefix: 'query: '")
		e.put(t, `{"t":"kitten"}`)
		e.wantRequest(t, "the prefix", func(q embeddingtest.Request) bool { return slices.Equal(q.Texts, []string{"query: feline"}) })
	},
	"store.index.document_prefix": func(t *testing.T) {
		e := newEmbedding(t, "document_prefix: 'passage: '")
		e.put(t, `{"t":"kitten"}`)
		e.wantRequest(t, "the prefix", func(q embeddingtest.Request) bool { return slices.Equal(q.Texts, []string{`passage: {"t":"kitten"}`}) })
	},
	"store.index.batch": func(t *testing.T) {
		e := newEmbedding(t, "batch: 2, fields: ['t[*]']")
		e.put(t, `{"t":["kitten","rain","tea"]}`)
		e.wantRequest(t, "the first two", func(q embeddingtest.Request) bool { return slices.Equal(q.Texts, []string{"kitten", "rain"}) })
	},
	"store.index.batch_bytes": func(t *testing.T) {
		e := newEmbedding(t, "batch_bytes: 10, fields: ['t[*]']")
		e.put(t, `{"t":["kitten","rain","tea"]}`)
		e.wantRequest(t, "the first two", func(q embeddingtest.Request) bool { return slices.Equal(q.Texts, []string{"kitten", "rain"}) })
	},
	"store.index.timeout": func(t *testing.T) {
		over := make(chan struct{})
		e := newEmbedding(t, "timeout: 100ms")
		defer close(over)
		e.Refuse(func(http.ResponseWriter, embeddingtest.Request) bool { <-over; return true })
		e.Do("PUT", "/store/items", `{"namespace":["n"],"key":"k","value":{"t":"kitten"}}`).Want(t, 204)
		began := time.Now()
		wantLossy(t, e.Do("POST", "/store/items/search", `{"query":"kitten"}`).Want(t, 200, `"key":"k"`), "query;approximated")
		if d := time.Since(began); d > 9*time.Second {
			t.Errorf("the search took %v", d)
		}
	},
	"store.ttl.default_ttl": func(t *testing.T) {
		for _, minutes := range []int64{0, 10} {
			r := expiring(t, fmt.Sprint("default_ttl: ", minutes), writer(`["n"]`, `{"v":1}`))
			r.item("n", "plain", `{}`)
			r.Do("PUT", "/store/items", `{"namespace":["n"],"key":"own","value":{},"ttl":1000}`).Want(t, 204)
			r.Wait("hi").Want(t, 200)
			kept := r.times("ttl_us")
			for key, want := range map[string]int64{"plain": minutes, "k": minutes, "own": 1000} {
				if got, there := kept[key]; !there || got != want*time.Minute.Microseconds() {
					t.Errorf("default_ttl %d: the item %s lives for %d µs", minutes, key, got)
				}
			}
		}
	},
	"store.ttl.refresh_on_read": func(t *testing.T) {
		for refresh, asked := range map[string][2]string{"true": {"&refresh_ttl=false", ""}, "false": {"", "&refresh_ttl=true"}} {
			r := expiring(t, "default_ttl: 10, refresh_on_read: "+refresh, rig.Legacy()["a"])
			r.item("n", "plain", `{}`)
			put := r.times("expires_us")["plain"]
			for i, query := range asked {
				r.Do("GET", "/store/items?namespace=n&key=plain"+query, "").Want(t, 200)
				if got := r.times("expires_us")["plain"]; got > put != (i == 1) {
					t.Errorf("refresh_on_read %s: after a read%s the time of an item ends %d µs later", refresh, query, got-put)
				}
			}
		}
	},
	"store.ttl.sweep_interval_minutes": rig.ProvenBy("proxy/maintenance", "TestItemsAreSweptAsOftenAsConfigured"),
	"store.vector_cache":               rig.ProvenBy("proxy/store", "TestUncachedVectors"),
}

// search_by makes a query find items only by meaning or by words, and neither is reported as a loss.
func TestStoreSearchByMeaningOrWords(t *testing.T) {
	t.Parallel()
	e := newEmbedding(t, "")
	e.put(t, `{"t":"kitten"}`)
	for body, want := range map[string]string{
		`{"query":"feline","search_by":"words"}`: `{"items":[]}`, `{"query":"kitten","search_by":"words"}`: `"key":"k"`,
		`{"query":"feline","search_by":"meaning"}`: `"key":"k"`, `{"query":"kitten","search_by":"meaning"}`: `"key":"k"`,
	} {
		wantLossy(t, e.Do("POST", "/store/items/search", body).Want(t, 200, want), "")
	}
}

// TestStoreSearchByText checks that query is a text search without embeddings.
func TestStoreSearchByText(t *testing.T) {
	t.Parallel()
	r := rig.Configured(t, rig.OneAgent, rig.Legacy())
	for key, rest := range map[string]string{"a": "", "b": `,"index":["title"]`, "c": `,"index":false`} {
		r.Do("PUT", "/store/items", `{"namespace":["n"],"key":"`+key+`","value":{"title":"tea","text":"strong coffee"}`+rest+`}`).Want(t, 204)
	}
	for query, want := range map[string]string{"tea": `"key":"a" "key":"b"`, "coffee": `"key":"a"`, "milk": ""} {
		got := r.Do("POST", "/store/items/search", `{"namespace_prefix":["n"],"query":"`+query+`"}`).Want(t, 200)
		var keys []string
		for _, key := range []string{"a", "b", "c"} {
			if at := `"key":"` + key + `"`; strings.Contains(got.String(), at) {
				keys = append(keys, at)
			}
		}
		if strings.Join(keys, " ") != want || len(keys) > 0 != strings.Contains(got.String(), `"score":0.`) {
			t.Errorf("%s: %s", query, got.String())
		}
	}
}

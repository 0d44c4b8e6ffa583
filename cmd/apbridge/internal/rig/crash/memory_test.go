package crash

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/embedding/embeddingtest"
)

// memoryScenes returns scenes about the vectors of the long-term store and the tokens for it.
func memoryScenes() []scene {
	remembers := []string{"APBRIDGE_AGENTS__AGENT__MEMORY__NAMESPACES=[users/ada]", "APBRIDGE_AGENTS__AGENT__MEMORY__ALLOW_WRITES=true",
		"APBRIDGE_AGENTS__AGENT__MEMORY__STORE_URL=http://bridge.example"}
	return []scene{
		{name: "items that become vectors", peer: rig.Chats, play: playVectors},
		{name: "vectors of another model", peer: rig.Chats, spared: 1, play: playOtherModel},
		{name: "tokens of runs", peer: holdsToken, environ: remembers, play: playTokens},
	}
}

// indexes configures later processes to create vectors of the given dimension with the model of an endpoint.
func indexes(t *testing.T, d *rig.Killable, model string, dims int) *embeddingtest.Endpoint {
	t.Helper()
	e := embeddingtest.Serve(t, dims)
	d.Configure("APBRIDGE_STORE__INDEX__EMBED=any:"+model, "APBRIDGE_STORE__INDEX__DIMS="+strconv.Itoa(dims), "APBRIDGE_STORE__INDEX__URL="+e.URL)
	return e
}

func put(d *rig.Killable, key, text string) {
	d.T.Helper()
	d.Sure("PUT", "/store/items", `{"namespace":["n"],"key":"`+key+`","value":{"t":"`+text+`"}}`).OK()
}

// nearest returns the key of the item with the meaning of the query, which no item contains as a word.
func nearest(d *rig.Killable, query string) string {
	d.T.Helper()
	found := d.Sure("POST", "/store/items/search", `{"namespace_prefix":["n"],"query":"`+query+`","limit":1}`).OK().List("items")
	if len(found) == 0 {
		return ""
	}
	return rig.Dig(found[0], "key").(string)
}

func eventuallyNearest(d *rig.Killable, query, key string) {
	d.T.Helper()
	acrossLives(d.T, key+" is found by "+query, func() bool { return nearest(d, query) == key })
}

// acrossLives is rig.Eventually with time for a process to die and for the next one to start and do its work.
func acrossLives(t *testing.T, what string, holds func() bool) {
	t.Helper()
	rig.Within(t, rig.CrashPatience, what, holds)
}

// playVectors checks that acknowledged items are found by their current meaning.
func playVectors(t *testing.T, d *rig.Killable, _ adaptertest.Peer) {
	indexes(t, d, "one", 16)
	put(d, "stays", "a feline, among dogs and birds")
	put(d, "changes", "kitten purrs")
	eventuallyNearest(d, "cat", "changes") // no item has a closer meaning
	put(d, "changes", "espresso")
	eventuallyNearest(d, "coffee", "changes")
	eventuallyNearest(d, "cat", "stays")
	for key, text := range map[string]string{"stays": "a feline, among dogs and birds", "changes": "espresso"} {
		expect(d, key, d.Get("/store/items?namespace=n&key="+key).At("value.t"), text)
	}
	gone(d, "DELETE", "/store/items", `{"namespace":["n"],"key":"stays"}`)
	expect(d, "near a cat, without the cat", nearest(d, "cat"), "changes")
	d.End()
}

// playOtherModel checks that the vectors of the first model are replaced by those of the second. Their dimensions
// differ, so a search that compared both would find nothing or a wrong item.
func playOtherModel(t *testing.T, d *rig.Killable, _ adaptertest.Peer) {
	indexes(t, d, "one", 16)
	put(d, "cat", "kitten purrs")
	put(d, "car", "a truck drives")
	eventuallyNearest(d, "feline", "cat")
	eventuallyNearest(d, "engine", "car")
	d.End()
	second := indexes(t, d, "two", 8)
	eventuallyNearest(d, "feline", "cat")
	eventuallyNearest(d, "engine", "car")
	for _, text := range []string{`{"t":"kitten purrs"}`, `{"t":"a truck drives"}`} {
		if !slices.ContainsFunc(second.Asked(), func(q embeddingtest.Request) bool { return q.Model == "two" && slices.Contains(q.Texts, text) }) {
			t.Errorf("the second model created no vector of %s", text)
		}
	}
	d.End()
}

// tokenHolder is a graph that hangs and records its token for the store.
type tokenHolder struct {
	adaptertest.Peer
	mu   sync.Mutex
	held []string // the tokens it was told, in order
}

func holdsToken() adaptertest.Peer { return &tokenHolder{Peer: hangsOnce()} }

func (h *tokenHolder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if token := rig.TextBetween(string(body), `"token":"`, `"`); token != "" {
		h.mu.Lock()
		h.held = append(h.held, token)
		h.mu.Unlock()
	}
	h.Peer.ServeHTTP(w, r)
}

// token returns the first token that the graph received, or "".
func (h *tokenHolder) token(t *testing.T) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.held) == 0 {
		return ""
	}
	if told := slices.Compact(slices.Clone(h.held)); len(told) > 1 {
		t.Errorf("one run has several tokens: %q", told)
	}
	return h.held[0]
}

// playTokens checks that an agent's token is valid for the store while its run is active, even after a death, and that
// it is only refused when the run has ended.
func playTokens(t *testing.T, d *rig.Killable, peer adaptertest.Peer) {
	holder := peer.(*tokenHolder)
	d.Sure("POST", "/threads", `{"thread_id":"`+rig.CrashThread[9:]+`","if_exists":"do_nothing"}`).OK()
	run := rig.CrashThread + "/runs/" + d.Keyed(rig.CrashThread+"/runs", `{"assistant_id":"agent",`+rig.SaysHi+`}`, "run").Text("run_id")
	acrossLives(t, "the agent has its token", func() bool {
		return holder.token(t) != "" || d.Get(run).Text("status") == "error"
	})
	if holder.token(t) == "" {
		lostRun(d, "the run that was never told of", run)
		d.End()
		return
	}
	by := func(method, body string) rig.Answer {
		return d.Sure(method, "/store/items", body, "Authorization", "Bearer "+holder.token(t))
	}
	const item, others = `{"namespace":["users","ada"],"key":"k","value":{"likes":"tea"}}`, `{"namespace":["users","bob"],"key":"k","value":{}}`
	switch kept := by("PUT", item); kept.Status {
	case http.StatusUnauthorized:
		lostRun(d, "the run, whose token is good no more,", run)
	default:
		kept.Is(http.StatusNoContent)
		expect(d, "the item", d.Get("/store/items?namespace=users.ada&key=k").At("value.likes"), "tea")
		if a := by("PUT", others); a.Status != http.StatusForbidden && (a.Status != http.StatusUnauthorized || !lostRun(d, "the run", run)) {
			t.Errorf("another user's item: %d %s", a.Status, a.Body)
		}
	}
	if a := d.Sure("POST", run+"/cancel?wait=true", ""); a.Status/100 != 2 && a.Status != http.StatusConflict {
		t.Errorf("cancel: %d %s", a.Status, a.Body)
	}
	by("PUT", item).Is(http.StatusUnauthorized)
	d.End()
}

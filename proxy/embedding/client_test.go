package embedding_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/vectorindex"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// endpoint is a scripted /embeddings. A text's vector is its length and 1.
type endpoint struct {
	*httptest.Server
	answer func(w http.ResponseWriter, q question) bool // reports whether it has answered

	mu    sync.Mutex
	asked []question
}

// question is one request.
type question struct {
	Model    string
	Input    []string
	Encoding string `json:"encoding_format"`
	Header   http.Header
	URI      string
	over     <-chan struct{} // its client has disconnected
}

func newEndpoint(t *testing.T, answer func(w http.ResponseWriter, q question) bool) *endpoint {
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := question{Header: r.Header, URI: r.RequestURI, over: r.Context().Done()}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	e.asked = append(e.asked, q)
	e.mu.Unlock()
	if e.answer == nil || !e.answer(w, q) {
		say(w, q, nil)
	}
}

func (e *endpoint) questions() []question {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// say answers a question correctly, the last text first. vector replaces the usual vectors if given.
func say(w http.ResponseWriter, q question, vector any) {
	var data []map[string]any
	for i := len(q.Input) - 1; i >= 0; i-- {
		var v any = []float32{float32(len(q.Input[i])), 1}
		if q.Encoding == "base64" {
			v = base64.StdEncoding.EncodeToString(vectorindex.AppendBytes(nil, v.([]float32)))
		}
		if vector != nil {
			v = vector
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": q.Model})
}

func (e *endpoint) client(t *testing.T, change ...func(*config.Index)) *embedding.Client {
	cfg := config.Default().Store.Index
	cfg.Dims, cfg.Embed, cfg.URL = 2, "openai:some/model:latest", e.URL+"/v1/"
	for _, c := range change {
		c(&cfg)
	}
	c := embedding.New(cfg, "apbridge/test", zap.NewNop())
	t.Cleanup(c.CloseIdle)
	return c
}

// documents returns the vectors of texts, nil for refused ones.
func documents(t *testing.T, c *embedding.Client, texts []string) (all [][]float32, err error) {
	t.Helper()
	for len(all) < len(texts) {
		list, refused, err := c.Documents(t.Context(), texts[len(all):])
		if err != nil {
			return nil, err
		}
		if all = append(all, list...); refused != nil {
			all = append(all, nil)
		}
	}
	return all, nil
}

// lengths returns the lengths of the texts of vectors, or -1.
func lengths(list [][]float32) (n []int) {
	for _, v := range list {
		if v == nil {
			n = append(n, -1)
		} else {
			n = append(n, int(v[0]/v[1]+0.5))
		}
	}
	return n
}

func status(code int, header ...string) func(http.ResponseWriter, question) bool {
	return func(w http.ResponseWriter, _ question) bool {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		return true
	}
}

// Vectors are in the order of the texts and have length 1, for any number of requests.
func TestDocuments(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	c := e.client(t, func(i *config.Index) { i.Batch, i.BatchBytes, i.DocumentPrefix, i.Key = 3, 40, "d:", "sk-canary" })
	texts := []string{"a", "bb", "ccc", "dddd", strings.Repeat("e", 60), "ff"}
	got, err := documents(t, c, texts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{3, 4, 5, 6, 62, 4}, lengths(got)); diff != "" {
		t.Error(diff)
	}
	if v := got[1]; v[0]*v[0]+v[1]*v[1] < 0.9999 || v[0]*v[0]+v[1]*v[1] > 1.0001 {
		t.Errorf("the length of %v is not 1", v)
	}
	var batches []int
	for _, q := range e.questions() {
		batches = append(batches, len(q.Input))
		if q.Model != "some/model:latest" || q.URI != "/v1/embeddings" || q.Encoding != "base64" || q.Header.Get("Authorization") != "Bearer sk-canary" {
			t.Errorf("asked %+v", q)
		}
	}
	if diff := cmp.Diff([]int{3, 1, 1, 1}, batches); diff != "" {
		t.Error(diff)
	}
}

func TestAzureIsCalledByItsDeployment(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, nil)
	c := e.client(t, func(i *config.Index) {
		i.URL, i.Embed, i.APIVersion, i.Key = e.URL, "azure_openai:my deployment", "2024-10-21", "canary"
		i.Headers = map[string]config.Secret{"X-Team": "blue"}
	})
	if _, err := c.Query(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	q := e.questions()[0]
	if q.URI != "/openai/deployments/my%20deployment/embeddings?api-version=2024-10-21" || q.Header.Get("Api-Key") != "canary" ||
		q.Header.Get("Authorization") != "" || q.Header.Get("X-Team") != "blue" {
		t.Errorf("asked %+v", q)
	}
}

// For an endpoint without encoding_format, later requests omit it.
func TestEndpointWithoutBase64(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, func(w http.ResponseWriter, q question) bool { return q.Encoding != "" && status(400)(w, q) })
	c := e.client(t)
	for range 2 {
		if got, err := documents(t, c, []string{"a", "bb"}); err != nil || !cmp.Equal(lengths(got), []int{1, 2}) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if n := len(e.questions()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// A text that is too long is represented by its beginning. A refused text has no vector. Others are not affected.
func TestRefusedTexts(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, func(w http.ResponseWriter, q question) bool {
		for _, text := range q.Input {
			if len(text) > 1000 || strings.Contains(text, "poison") {
				return status(http.StatusRequestEntityTooLarge)(w, q)
			}
		}
		return false
	})
	got, err := documents(t, e.client(t), []string{"a", strings.Repeat("é", 1500), "poison", strings.Repeat("poison", 100), "bb"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 750, -1, -1, 2}, lengths(got)); diff != "" {
		t.Error(diff)
	}
}

// A text for which a model returns no numbers does not affect others, whether the endpoint reports that or fails to
// encode them (as Ollama does, with 500).
func TestTextsWithoutNumbers(t *testing.T) {
	t.Parallel()
	var zero float32
	nan := base64.StdEncoding.EncodeToString(vectorindex.AppendBytes(nil, []float32{zero / zero, 1}))
	for name, answer := range map[string]func(http.ResponseWriter, question) bool{
		"no number": func(w http.ResponseWriter, q question) bool { say(w, q, nan); return true },
		"null":      func(w http.ResponseWriter, q question) bool { say(w, q, []any{nil, 1}); return true },
		"all 0":     func(w http.ResponseWriter, q question) bool { say(w, q, []int{0, 0}); return true },
		"500":       status(http.StatusInternalServerError),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, func(w http.ResponseWriter, q question) bool {
				return strings.Contains(strings.Join(q.Input, " "), "poison") && answer(w, q)
			})
			c := e.client(t)
			got, err := documents(t, c, []string{"a", "poison", "ccc"})
			if diff := cmp.Diff([]int{1, -1, 3}, lengths(got)); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// A refused query is caused by its text, so others are sent at once.
func TestRefusedQuery(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, func(w http.ResponseWriter, q question) bool {
		return strings.Contains(q.Input[0], "poison") && status(http.StatusBadRequest)(w, q)
	})
	c := e.client(t)
	if v, err := c.Query(t.Context(), "poison"); err == nil || v != nil {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := c.Query(t.Context(), "tea"); err != nil || len(v) != 2 {
		t.Errorf("%v, %v", v, err)
	}
}

// has reports whether a text of the request contains some words.
func (q question) has(words string) bool { return strings.Contains(strings.Join(q.Input, " "), words) }

// cut breaks the connection without an answer.
func cut(w http.ResponseWriter, _ question) bool {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
	return true
}

// Whatever happens to one text, all others get their vectors.
func TestFailingTextDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, question) bool{
		"401": status(401), "403": status(403), "404": status(404), "408": status(408), "451": status(451), "501": status(501), "503": status(503), "504": status(504), "524": status(524),
		"a redirect": status(302, "Location", "/"), "a cut connection": cut,
		"a page":            func(w http.ResponseWriter, q question) bool { fmt.Fprint(w, "<html>", q.Input); return true },
		"one vector fewer":  func(w http.ResponseWriter, q question) bool { q.Input = q.Input[1:]; say(w, q, nil); return true },
		"one vector longer": func(w http.ResponseWriter, q question) bool { say(w, q, []int{1, 2, 3}); return true },
		"its own words": func(w http.ResponseWriter, q question) bool {
			http.Error(w, strings.Join(q.Input, ""), http.StatusForbidden)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, func(w http.ResponseWriter, q question) bool { return q.has("poison") && answer(w, q) })
			c := e.client(t)
			list, refused, err := c.Documents(t.Context(), []string{"a", "poison", "ccc"})
			if err != nil || refused == nil || strings.Contains(refused.Error(), "poison") || !cmp.Equal(lengths(list), []int{1}) {
				t.Errorf("%v, %v, %v", list, refused, err)
			}
			if list, refused, err = c.Documents(t.Context(), []string{"ccc", "dddd"}); err != nil || refused != nil || !cmp.Equal(lengths(list), []int{3, 4}) {
				t.Errorf("%v, %v, %v", list, refused, err)
			}
		})
	}
}

// A request that takes too long is not repeated unchanged, and the next ones are smaller.
func TestSlowEndpoint(t *testing.T) {
	t.Parallel()
	const most = 50 // bytes that it can process in time
	e := newEndpoint(t, nil)
	late := 0
	e.answer = func(w http.ResponseWriter, q question) bool {
		if len(strings.Join(q.Input, "")) <= most {
			return false
		}
		late++
		<-q.over
		return true
	}
	c := e.client(t, func(i *config.Index) { i.Timeout, i.Batch, i.BatchBytes = 100*time.Millisecond, 100, 160 })
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = "1234567890"
	}
	list, refused, err := c.Documents(t.Context(), texts)
	if err != nil || refused != nil || len(list) != len(texts) {
		t.Fatalf("%d vectors, %v, %v", len(list), refused, err)
	}
	if late > 6 {
		t.Errorf("%d of %d requests were too large", late, len(e.questions()))
	}
	if list, err := documents(t, c, []string{strings.Repeat("x", 300), "a"}); err != nil || !cmp.Equal(lengths(list), []int{-1, 1}) {
		t.Errorf("%v, %v", lengths(list), err)
	}
}

// A text that crashes an endpoint is found when the endpoint is back, and the others get their vectors.
func TestTextThatCrashesTheEndpoint(t *testing.T) {
	t.Parallel()
	down := false
	e := newEndpoint(t, func(w http.ResponseWriter, q question) bool {
		down = down || q.has("poison")
		return down && status(501)(w, q)
	})
	c := e.client(t)
	texts, got := []string{"a", "bb", "poison", "dddd"}, []int{}
	for restarts := 0; len(got) < len(texts); restarts++ {
		down = false
		list, refused, err := c.Documents(t.Context(), texts[len(got):])
		if got = append(got, lengths(list)...); refused != nil {
			got = append(got, -1)
		}
		if restarts > 4 || err == nil && refused == nil && len(got) < len(texts) {
			t.Fatalf("%v after %d restarts: %v", got, restarts, err)
		}
	}
	if diff := cmp.Diff([]int{1, 2, -1, 4}, got); diff != "" {
		t.Error(diff)
	}
}

// While an endpoint is down, only probes are sent.
func TestAnEndpointThatIsDown(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, status(403))
	c := e.client(t)
	for range 3 {
		if list, refused, err := c.Documents(t.Context(), []string{"a", "b"}); err == nil || refused != nil || list != nil {
			t.Errorf("%v, %v, %v", list, refused, err)
		}
	}
	var sent []string
	for _, q := range e.questions() {
		sent = append(sent, strings.Join(q.Input, "+"))
	}
	if diff := cmp.Diff([]string{"a+b", "hello", "hello", "hello"}, sent); diff != "" {
		t.Error(diff)
	}
}

// A failure caused by one query's text does not affect other queries.
func TestFailedQueryDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, question) bool{
		"403": status(403), "500": status(500), "503": status(503), "a cut connection": cut, "silence": func(_ http.ResponseWriter, q question) bool { <-q.over; return true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, func(w http.ResponseWriter, q question) bool { return q.has("poison") && answer(w, q) })
			c := e.client(t, func(i *config.Index) { i.Timeout = 500 * time.Millisecond })
			if v, err := c.Query(t.Context(), "poison"); err == nil || v != nil {
				t.Errorf("%v, %v", v, err)
			}
			if v, err := c.Query(t.Context(), "tea"); err != nil || len(v) != 2 {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
}

// If the endpoint refuses everything, no text is set aside.
func TestEndpointThatRefusesEverything(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, status(422))
	if got, err := documents(t, e.client(t), []string{"a", "b"}); err == nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestBusyEndpoint(t *testing.T) {
	t.Parallel()
	for _, busy := range []func(http.ResponseWriter, question) bool{status(429, "Retry-After", "1"), status(503), status(502)} {
		asked := 0
		e := newEndpoint(t, func(w http.ResponseWriter, q question) bool { asked++; return asked < 3 && busy(w, q) })
		began := time.Now()
		got, err := documents(t, e.client(t), []string{"a"})
		if err != nil || !cmp.Equal(lengths(got), []int{1}) {
			t.Errorf("%v, %v", got, err)
		}
		if d := time.Since(began); d < 200*time.Millisecond {
			t.Errorf("it came again after %v", d)
		}
	}
}

// Every unusable response is a failure with a reason and without the key.
func TestUnusableResponses(t *testing.T) {
	t.Parallel()
	text := func(s string) func(http.ResponseWriter, question) bool {
		return func(w http.ResponseWriter, _ question) bool { fmt.Fprint(w, s); return true }
	}
	vector := func(v any) func(http.ResponseWriter, question) bool {
		return func(w http.ResponseWriter, q question) bool { say(w, q, v); return true }
	}
	bits := func(v ...float32) string {
		return base64.StdEncoding.EncodeToString(vectorindex.AppendBytes(nil, v))
	}
	var zero float32
	for why, answer := range map[string]func(http.ResponseWriter, question) bool{
		"responded with 401: bad key [hidden]": func(w http.ResponseWriter, q question) bool {
			http.Error(w, "bad key "+strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer "), http.StatusUnauthorized)
			return true
		},
		"responded with 302, a redirect":                      status(302, "Location", "http://127.0.0.1:1/"),
		"not that of an OpenAI-compatible":                    text("<!DOCTYPE html><html>canary"),
		"returned 0 vectors for 2 texts":                      text(`{}`),
		"returned index 0 twice":                              text(`{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`),
		"returned index 2":                                    text(`{"data":[{"index":2,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`),
		"returned index -1 twice, or for none of the 2 texts": text(`{"data":[{"index":-1,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`),
		"have 3 numbers":                                      vector([]int{1, 2, 3}),
		"have 1 numbers":                                      vector(bits(1)),
		"have 0 numbers":                                      vector(null{}),
		"not a list of numbers":                               vector([]string{"NaN", "1"}),
		"all 0 or contains values that are not":               vector([]int{0, 0}),
		"no direction":                                        vector(bits(zero/zero, 1)),
		"or contains values that are not numbers":             vector([]any{nil, 1}),
		"one of its vectors has no direction: it is all 0 or": vector(bits(1/zero, 1)),
		"not in base64":                                       vector("%%%%"),
		"is longer":                                           text(strings.Repeat(" ", 1<<20)),
	} {
		e := newEndpoint(t, answer)
		c := e.client(t, func(i *config.Index) { i.Key = "canary-key" })
		got, err := documents(t, c, []string{"a", "b"})
		if err == nil || got != nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "canary-key") {
			t.Errorf("%s: %v, %v", why, got, err)
		} else if mapping.Classify(err).Class != mapping.Upstream {
			t.Errorf("%s: of class %s", why, mapping.Classify(err).Class)
		}
	}
}

// TestTruncatedErrorsContainNoPartialSecret checks that an endpoint's text shows no part of a credential in any
// encoding, wherever it is truncated.
func TestTruncatedErrorsContainNoPartialSecret(t *testing.T) {
	t.Parallel()
	const key, header = "canary&key-0123456789", "canary&header-012345"
	for _, said := range []string{key, header, url.QueryEscape(key), url.PathEscape(header)} {
		for _, before := range []int{0, 20, 38, 180, 190, 198, 199, 200, 201} {
			for _, status := range []int{http.StatusUnauthorized, http.StatusOK} {
				e := newEndpoint(t, func(w http.ResponseWriter, _ question) bool {
					w.WriteHeader(status)
					fmt.Fprint(w, strings.Repeat("x", before), " ", said, " and more")
					return true
				})
				c := e.client(t, func(i *config.Index) {
					i.Key, i.Headers = key, map[string]config.Secret{"X-Key": header}
				})
				if _, err := documents(t, c, []string{"a"}); err == nil || strings.Contains(err.Error(), "cana") {
					t.Errorf("%d with %d characters before %s: %v", status, before, said, err)
				}
			}
		}
	}
}

// null is encoded as null.
type null struct{}

func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// A query is sent once. After a failure none is sent for a while, which is logged once, and then they are sent again.
func TestQueries(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	e := newEndpoint(t, func(w http.ResponseWriter, q question) bool { return down.Load() && status(500)(w, q) })
	core, logs := observer.New(zap.WarnLevel)
	cfg := config.Default().Store.Index
	cfg.Dims, cfg.Embed, cfg.URL, cfg.QueryPrefix = 2, "openai:m", e.URL, "query: "
	c := embedding.New(cfg, "apbridge/test", zap.New(core))
	defer c.CloseIdle()
	at := time.Now()
	c.SetClock(func() time.Time { return at })
	query := func(text string, ok bool, asked int) {
		t.Helper()
		if v, err := c.Query(t.Context(), text); (err == nil) != ok || (v != nil) != ok {
			t.Errorf("%s: %v, %v", text, v, err)
		}
		if n := len(e.questions()); n != asked {
			t.Errorf("%d requests, want %d", n, asked)
		}
	}
	query("a", true, 1)
	query("a", true, 1)
	if got := e.questions()[0].Input[0]; got != "query: a" {
		t.Errorf("asked for %q", got)
	}
	down.Store(true)
	query("b", false, 3) // and whether another text is accepted
	query("c", false, 3)
	query("a", true, 3)
	down.Store(false)
	query("c", false, 3)
	at = at.Add(embedding.Rest)
	query("c", true, 4)
	if n := logs.Len(); n != 1 {
		t.Errorf("the log has %d lines", n)
	}
}

// The wait for a silent endpoint is bounded by store.index.timeout.
func TestHangingEndpoint(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	e := newEndpoint(t, func(http.ResponseWriter, question) bool { <-over; return true })
	defer close(over)
	c := e.client(t, func(i *config.Index) { i.Timeout = 50 * time.Millisecond })
	if _, err := c.Query(t.Context(), "q"); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Error(err)
	}
}

// FuzzAnswer checks that there are as many vectors as texts, or a failure.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":"AACAPwAAAAA="}]}`, `{"data":[{},{}]}`, `[]`, `{"data":null}`} {
		f.Add(s)
	}
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
	defer server.Close()
	cfg := config.Default().Store.Index
	cfg.Dims, cfg.Embed, cfg.URL = 2, "openai:m", server.URL
	c := embedding.New(cfg, "apbridge/test", zap.NewNop())
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		list, refused, err := c.Documents(t.Context(), []string{"a", "b"})
		if err != nil || refused != nil {
			return
		}
		if len(list) != 2 || len(list[0]) != 2 || len(list[1]) != 2 || !vectorindex.Unit(list[0]) {
			t.Fatalf("%q is read as %v", text, list)
		}
	})
}

// Package embeddingtest is an embeddings endpoint for tests, which knows the meaning of a few words. Only tests import
// it.
package embeddingtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

// meanings are lists of words with the same meaning. Any other word has its own meaning.
var meanings = [][]string{
	{"cat", "kitten", "feline", "whiskers", "purrs"},
	{"car", "truck", "engine", "drives"},
	{"tea", "coffee", "drink", "espresso"},
	{"rain", "storm", "weather"},
}

// Vector returns the meaning of a text as dims numbers: a component for each meaning, and a pseudo-random one for each
// other word.
func Vector(text string, dims int) []float32 {
	v := make([]float32, dims)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range words {
		at, weight := int(sum(word)%uint32(dims)), float32(0.3)
		for m, list := range meanings {
			for _, w := range list {
				if w == word {
					at, weight = m, 1
				}
			}
		}
		v[at] += weight
	}
	v[dims-1] += 0.1 // so that a text without words does not get a zero vector
	return v
}

func sum(word string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(word))
	return h.Sum32()
}

// Request is a request to an Endpoint.
type Request struct {
	URI    string
	Header http.Header
	Model  string   `json:"model"`
	Texts  []string `json:"input"`
}

// Endpoint serves POST …/embeddings. Safe for concurrent use.
type Endpoint struct {
	URL  string
	dims int

	mu     sync.Mutex
	asked  []Request
	refuse func(w http.ResponseWriter, q Request) bool
}

// Serve starts an endpoint that is stopped with the test.
func Serve(t testing.TB, dims int) *Endpoint {
	t.Helper()
	e := &Endpoint{dims: dims}
	s := httptest.NewServer(e)
	e.URL = s.URL
	t.Cleanup(s.Close)
	return e
}

// Refuse sets a function that may respond instead of the endpoint. It returns true if it did. A nil f removes it.
func (e *Endpoint) Refuse(f func(w http.ResponseWriter, q Request) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuse = f
}

// Asked returns the requests so far.
func (e *Endpoint) Asked() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// Count returns the number of texts that were converted to vectors.
func (e *Endpoint) Count() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.asked {
		n += len(q.Texts)
	}
	return n
}

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := Request{URI: r.RequestURI, Header: r.Header}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !strings.HasSuffix(r.URL.Path, "/embeddings") {
		http.Error(w, "no such thing", http.StatusNotFound)
		return
	}
	e.mu.Lock()
	refuse := e.refuse
	e.mu.Unlock()
	if refuse != nil && refuse(w, q) {
		return
	}
	e.mu.Lock()
	e.asked = append(e.asked, q)
	e.mu.Unlock()
	type vector struct {
		Index     int    `json:"index"`
		Embedding string `json:"embedding"`
	}
	data := make([]vector, len(q.Texts))
	for i, text := range q.Texts {
		data[i] = vector{i, coded(Vector(text, e.dims))}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

func coded(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

package embedding

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apbridge/apbridge/mapping/vectorindex"
)

// answer is the part of a successful response that is read.
type answer struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
}

// vectors reads a response for n texts: a vector of length 1 for each, in order. coded reports whether it was in
// base64, as requested.
func (c *Client) vectors(raw []byte, n int) (list [][]float32, coded bool, f *failure) {
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		f = failed(nil, "its response is not that of an OpenAI-compatible /embeddings: it begins with")
		f.words = strconv.Quote(c.secrets.Excerpt(string(raw), 40))
		return nil, false, f
	}
	if len(a.Data) != n {
		return nil, false, failed(nil, "it returned %d vectors for %d texts", len(a.Data), n)
	}
	list = make([][]float32, n)
	for at, d := range a.Data {
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || list[at] != nil {
			return nil, false, failed(nil, "it returned index %d twice, or for none of the %d texts", at, n)
		}
		var f *failure
		if list[at], coded, f = c.vector(d.Embedding); f != nil {
			return nil, false, f
		}
	}
	return list, coded, nil
}

// null is what some servers write for NaN. It is read as 0.
var null = []byte("null")

func (c *Client) vector(raw json.RawMessage) (v []float32, coded bool, f *failure) {
	if strings.HasPrefix(string(raw), `"`) {
		coded = true
		var text string
		kept, err := []byte(nil), json.Unmarshal(raw, &text)
		if err == nil {
			kept, err = base64.StdEncoding.DecodeString(text)
		}
		if err != nil || len(kept)%vectorindex.Size != 0 {
			return nil, false, failed(err, "one of its vectors is not in base64")
		}
		v = vectorindex.AppendVector(make([]float32, 0, len(kept)/vectorindex.Size), kept)
	} else if err := json.Unmarshal(raw, &v); err != nil {
		return nil, false, failed(nil, "one of its vectors is not a list of numbers")
	}
	switch {
	case len(v) != c.cfg.Dims:
		return nil, false, failed(nil, "its vectors have %d numbers, but store.index.dims is %d", len(v), c.cfg.Dims)
	case !vectorindex.Unit(v) || !coded && bytes.Contains(raw, null):
		f = failed(nil, "one of its vectors has no direction: it is all 0 or contains values that are not numbers")
		f.empty = true
		return nil, false, f
	}
	return v, coded, nil
}

package bridge

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/apbridge/apbridge/proxy/store/item"
)

// index is how items of the store become vectors; nil: they do not.
func (a *App) index() (*item.Index, error) {
	cfg := a.cfg.Store.Index
	if !cfg.On() {
		return nil, nil
	}
	fields, err := itemPaths(cfg.Fields)
	if err != nil {
		return nil, err
	}
	mark, err := markOf(cfg)
	if err != nil {
		return nil, err
	}
	a.embeddings = embedding.New(cfg, "apbridge/"+Version(), a.log.Named("embeddings"))
	return &item.Index{Embed: a.embeddings, Fields: fields, Dims: cfg.Dims, Mark: mark, Cache: int64(a.cfg.Store.VectorCache)}, nil
}

func itemPaths(fields []string) (paths []itemquery.ItemPath, err error) {
	for i, text := range fields {
		path, err := itemquery.ParseItemPath(text)
		if err != nil {
			return nil, fmt.Errorf("store.index.fields[%d]: %q %w", i, text, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// markOf returns a mark that differs between vectors that cannot be compared: of another model, or of other texts.
// Where the model is served makes no difference.
func markOf(cfg config.Index) (string, error) {
	b, err := json.Marshal(struct {
		Embed  string   `json:"embed"`
		Dims   int      `json:"dims"`
		Fields []string `json:"fields"`
		Prefix string   `json:"document_prefix,omitempty"`
	}{cfg.Embed, cfg.Dims, cfg.Fields, cfg.DocumentPrefix})
	return string(b), err
}

package bridge

import (
	"encoding/json"
	"fmt"

	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping/itemquery"
	"github.com/apbridge/apbridge/proxy/embedding"
	"github.com/apbridge/apbridge/proxy/store/item"
	"go.uber.org/zap"
)

// newIndex returns the index for vectors of items and the client of the endpoint. Both are nil if items have no
// vectors.
func newIndex(cfg *config.Config, log *zap.Logger) (*item.Index, *embedding.Client, error) {
	index := cfg.Store.Index
	if !index.On() {
		return nil, nil, nil
	}
	fields, err := itemPaths(index.Fields)
	if err != nil {
		return nil, nil, err
	}
	mark, err := markOf(index)
	if err != nil {
		return nil, nil, err
	}
	client := embedding.New(index, userAgent(), log.Named("embeddings"))
	return &item.Index{Embed: client, Fields: fields, Dims: index.Dims, Mark: mark, Cache: int64(cfg.Store.VectorCache)}, client, nil
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

// markOf returns a mark that differs if vectors cannot be compared, because they come from different models or texts.
// The address of the model does not matter.
func markOf(cfg config.Index) (string, error) {
	b, err := json.Marshal(struct {
		Embed  string   `json:"embed"`
		Dims   int      `json:"dims"`
		Fields []string `json:"fields"`
		Prefix string   `json:"document_prefix,omitempty"`
	}{cfg.Embed, cfg.Dims, cfg.Fields, cfg.DocumentPrefix})
	return string(b), err
}

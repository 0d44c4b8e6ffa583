package threadrun

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
)

func dial(adapter.Upstream) (adapter.Backend, error) {
	return nil, mapping.Errorf(mapping.Unsupported, mapping.CodeNotSupported, "This build cannot call thread/run agents.")
}

func detect(context.Context, adapter.Upstream) (bool, error) { return false, nil }

package taskstep

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
)

func dial(adapter.Upstream) (adapter.Backend, error) { panic("stub") }

func detect(context.Context, adapter.Upstream) (bool, error) { panic("stub") }

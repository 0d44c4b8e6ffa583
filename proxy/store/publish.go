package store

import "github.com/apbridge/apbridge/mapping"

func publish(t *tx, thread int64, a Append) ([]mapping.Artifact, error) { return nil, nil }

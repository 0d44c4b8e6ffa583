package front

import "github.com/apbridge/apbridge/mapping"

// sentence is what callers are told of an error.
func sentence(err error) string { return mapping.Classify(err).Message }

package front

import "github.com/apbridge/apbridge/mapping"

// sentence returns an error's text for callers.
func sentence(err error) string { return mapping.Classify(err).Message }

package adapter

import "github.com/apbridge/apbridge/mapping"

// Effect is what a route does to which kind of thing.
type Effect struct {
	Verb mapping.Verb
	Kind string
}

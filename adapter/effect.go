package adapter

import "github.com/apbridge/apbridge/mapping"

// Effect is what a route does, and to what.
type Effect struct {
	Verb mapping.Verb
	Kind string
}

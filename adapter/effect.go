package adapter

import "github.com/apbridge/apbridge/mapping"

// Effect is the action of a route and the kind of object that it acts on.
type Effect struct {
	Verb mapping.Verb
	Kind string
}

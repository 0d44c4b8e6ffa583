package threadrun

import "github.com/apbridge/apbridge/mapping"

// runPlain runs on a server that has only the routes of the Agent Protocol.
func (s *session) runPlain() error {
	return mapping.Errorf(mapping.Upstream, mapping.CodeNotSupported,
		"Agent %q at %s has no /assistants: it is a plain Agent Protocol server, which this version cannot call.", s.b.up.Name, s.b.http.host)
}

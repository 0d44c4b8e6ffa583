package a2a

import (
	"net/http"
	"strings"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

func (s *suite) cardChecks() []check.Check {
	return []check.Check{
		{ID: "a2a.card", Level: check.Must, Says: "The agent card can be fetched at /.well-known/agent-card.json.", Cites: doc.At("8.2"),
			Run: func(t *check.Talk) { s.card.Own(t, readCard) }},
		{ID: "a2a.card.schema", Level: check.Must, Says: "The card has all required members.", Cites: doc.At("4.4.1, 5.7"),
			Run: func(t *check.Talk) { s.aCard(t).In(t).Fits(cardShape) }},
		{ID: "a2a.card.urls", Level: check.Must, Says: "The URLs of the card's interfaces are absolute.", Cites: doc.At("4.4.6"),
			Run: func(t *check.Talk) {
				for _, each := range s.aCard(t).In(t).List("supportedInterfaces") {
					if url := check.TextAt(each, "url"); !strings.Contains(url, "://") && check.TextAt(each, "protocolBinding") != "GRPC" {
						t.Fail("the URL %.60q is not absolute", url)
					}
				}
			}},
		{ID: "a2a.card.caching", Level: check.Should, Says: "The card is served with Cache-Control and ETag.", Cites: doc.At("8.6"),
			Run: func(t *check.Talk) {
				s.aCard(t)
				a := t.Get(cardPath).Is(http.StatusOK)
				for _, name := range []string{"Cache-Control", "ETag"} {
					if !t.Over() && a.Header.Get(name) == "" {
						t.Fail("the header %s is missing", name)
					}
				}
			}},
		{ID: "a2a.card.unchanged", Level: check.Should, Says: "Fetching an unchanged card with its ETag returns 304.", Cites: doc.At("8.6"),
			Run: func(t *check.Talk) {
				tag := s.aCard(t).Header.Get("ETag")
				if tag == "" {
					t.Skip("the card has no ETag")
				}
				t.Send(check.Request{Method: http.MethodGet, Path: cardPath, Header: map[string]string{"If-None-Match": tag}}).Is(http.StatusNotModified)
			}},
		{ID: "a2a.card.extended", Level: check.Must, Says: "Fetching the extended card without the capability is refused.", Cites: doc.At("3.1.11, 3.3.4"),
			Run: func(t *check.Talk) {
				if s.aCard(t).extended {
					t.Skip("the card announces an extended card")
				}
				s.fails(t, "GetExtendedAgentCard", members{}, unsupported)
			}},
	}
}

package wire_test

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
	"github.com/apbridge/apbridge/mapping/rawjson"
)

// Security of cards in the shapes of SDKs.
func TestReadSecurityOfCards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, schemes, requirements string }{
		{"a2a-go 2.4.0", `{"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"header","name":"x"}}},"securityRequirements":[{"schemes":{"k":["run"]}}]}`,
			`{"k":{"apiKeySecurityScheme":{"location":"header","name":"x"}}}`, `[{"schemes":{"k":{"list":["run"]}}}]`},
		{"@a2a-js/sdk 1.3.0", `{"securitySchemes":{"k":{"scheme":{"$case":"apiKeySecurityScheme","value":{"description":"","location":"header","name":"x"}}}}}`,
			`{"k":{"apiKeySecurityScheme":{"location":"header","name":"x"}}}`, ``},
		{"0.3", `{"securitySchemes":{"k":{"type":"http","scheme":"bearer"}},"security":[{"k":["a"],"l":[]}]}`,
			`{"k":{"httpAuthSecurityScheme":{"scheme":"bearer"}}}`, `[{"schemes":{"k":{"list":["a"]},"l":{"list":[]}}}]`},
		{"no list", `{"securityRequirements":[{"schemes":{"k":{}}},{"schemes":{"l":null}}]}`, ``, `[{"schemes":{"k":{"list":[]}}},{"schemes":{"l":{"list":[]}}}]`},
		{"unknown scheme", `{"securitySchemes":{"k":{"type":"magic"}}}`, `{"k":{}}`, ``},
		{"scheme that cannot be read", `{"securitySchemes":{"k":"?","l":{"type":[]}}}`, `{"k":{},"l":{}}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := asV1(t, lenient, wire.V1, "AgentCard", c.raw)
			if err != nil {
				t.Fatal(err)
			}
			for member, want := range map[string]string{"securitySchemes": c.schemes, "securityRequirements": c.requirements} {
				if value := rawjson.Get([]byte(got), member); !(want == "" && value == nil) && !rawjson.Equal(value, []byte(want)) {
					t.Errorf("%s is %s, want %s", member, value, want)
				}
			}
		})
	}
}

// A hybrid card is read as itself, and its text is always the same.
func TestHybridCards(t *testing.T) {
	t.Parallel()
	var card wire.AgentCard
	if err := strict.Read(wire.V1, samples(t)["card"].V1, &card); err != nil {
		t.Fatal(err)
	}
	card.SupportedInterfaces = []wire.AgentInterface{
		{URL: "https://poet.example/a2a/", ProtocolBinding: wire.BindingJSONRPC, ProtocolVersion: "1.0"},
		{URL: "https://poet.example/a2a/", ProtocolBinding: wire.BindingHTTP, ProtocolVersion: "1.0"},
		{URL: "https://poet.example/a2a/", ProtocolBinding: wire.BindingJSONRPC, ProtocolVersion: "0.3"},
	}
	hybrid, err := wire.AppendHybridCard(nil, card)
	if err != nil {
		t.Fatal(err)
	}
	want, err := wire.Append(nil, wire.V1, card)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := asV1(t, lenient, wire.V1, "AgentCard", string(hybrid)); err != nil || got != string(want) {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	for member, want := range map[string]string{"url": "https://poet.example/a2a/", "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0"} {
		if got := rawjson.GetText(hybrid, member); got != want {
			t.Errorf("%s is %q", member, got)
		}
	}
	again, err := wire.AppendHybridCard(nil, card)
	if err != nil || string(again) != string(hybrid) {
		t.Errorf("the same card is not the same text: %v\n%s\n%s", err, hybrid, again)
	}
}

// A profile becomes a card with every required member (S 5.7), the same text each time.
func TestCardsOfProfiles(t *testing.T) {
	t.Parallel()
	secured := wire.Profile{
		Name: "poet", URL: "https://h.example/a2a/poet/", Legacy: true, Capabilities: wire.AgentCapabilities{Streaming: true},
		SecuritySchemes:      map[string]wire.SecurityScheme{"key": {APIKey: &wire.APIKeySecurityScheme{Location: "header", Name: "x-api-key"}}, "bearer": {HTTPAuth: &wire.HTTPAuthSecurityScheme{Scheme: "Bearer"}}},
		SecurityRequirements: []wire.SecurityRequirement{{"key": nil}, {"bearer": nil}},
	}
	for _, p := range []wire.Profile{{Name: "poet", URL: "https://h.example/a2a/poet"}, secured} {
		card := p.Card()
		if card.Description != "poet" || card.Version == "" || len(card.Skills) != 1 || card.Skills[0].ID == "" || len(card.Skills[0].Tags) == 0 {
			t.Errorf("the card is %+v", card)
		}
		for _, f := range card.SupportedInterfaces {
			if f.URL != "https://h.example/a2a/poet" {
				t.Errorf("the URL is %s", f.URL)
			}
		}
		body, tag, err := wire.CardDocument(card)
		if err != nil {
			t.Fatal(err)
		}
		if again, same, err := wire.CardDocument(p.Card()); err != nil || string(again) != string(body) || same != tag || len(tag) < 10 {
			t.Errorf("tags %s and %s of %s and %s: %v", tag, same, body, again, err)
		}
		if legacy := rawjson.Get(body, "protocolVersion") != nil; legacy != p.Legacy {
			t.Errorf("the card is %s", body)
		}
		var back wire.AgentCard
		if err := lenient.Read(wire.V1, body, &back); err != nil || back.SupportedInterfaces[0].ProtocolVersion != "1.0" {
			t.Errorf("%+v, %v", back, err)
		}
		other := card
		other.Description = "another"
		if _, changed, err := wire.CardDocument(other); err != nil || changed == tag {
			t.Errorf("another card has tag %s, %v", changed, err)
		}
	}
}

// Cards fit the official schemas. That of 0.3 allows further members, and so takes hybrid cards.
func TestCardsFitTheSchemas(t *testing.T) {
	t.Parallel()
	official := officialSchemas(t)
	card := wire.Profile{Name: "poet", URL: "https://h.example/a2a/poet", Legacy: true,
		SecuritySchemes: map[string]wire.SecurityScheme{"cert": {MTLS: &wire.MutualTLSSecurityScheme{}}}, SecurityRequirements: []wire.SecurityRequirement{{"cert": nil}}}.Card()
	hybrid, _, err := wire.CardDocument(card)
	if err != nil {
		t.Fatal(err)
	}
	official.check(t, "hybrid card", wire.V03, "AgentCard", hybrid)
	for _, v := range []wire.Version{wire.V1, wire.V03} {
		pure, err := wire.Append(nil, v, card)
		if err != nil {
			t.Fatal(err)
		}
		official.check(t, "card", v, "AgentCard", pure)
	}
}

package a2a

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

const card = "/.well-known/agent-card.json"

// TestCards checks where cards are, what they name, and that they can be cached (S 8.2, 8.6).
func TestCards(t *testing.T) {
	t.Parallel()
	b := served(t, "trusted_proxies: [127.0.0.1]")
	own := b.Get("/a2a/chat"+card).Want(t, 200, `"name":"chat"`, `"url":"`+b.URL+`/a2a/chat"`, `"protocolVersion":"0.3.0"`)
	b.Get("/a2a/chat/.well-known/agent.json").Want(t, 200, `"name":"chat"`)
	b.Get(card).Want(t, 200, `"name":"steps"`)
	b.Get(card+"?assistant_id=ask").Want(t, 200, `"name":"ask"`)
	b.Get("/a2a/nobody"+card).Want(t, 404, "no agent")
	b.Get(card+"?assistant_id=nobody").Want(t, 404, "no agent")

	tag := own.Header.Get("ETag")
	if cache := own.Header.Get("Cache-Control"); !strings.Contains(cache, "max-age=") || tag == "" {
		t.Errorf("Cache-Control is %q, ETag %q", cache, tag)
	}
	for _, sent := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if got := b.Do("GET", "/a2a/chat"+card, "", "If-None-Match", sent); got.Status != 304 || len(got.Body) > 0 {
			t.Errorf("If-None-Match %s: %d %s", sent, got.Status, got.Body)
		}
	}
	b.Do("GET", "/a2a/chat"+card, "", "If-None-Match", `"x"`).Want(t, 200)

	// Behind a proxy, the card names the proxy (agentgateway#2981, #3500).
	proxied := b.Do("GET", "/a2a/chat"+card, "", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example:8443", "X-Forwarded-Prefix", "/bridge/").Want(t, 200)
	if list := proxied.List("supportedInterfaces"); len(list) != 4 || rig.Dig(list[0], "url") != "https://agents.example:8443/bridge/a2a/chat" || proxied.Text("url") != "https://agents.example:8443/bridge/a2a/chat" {
		t.Errorf("behind a proxy: %s", proxied.Body)
	}
	if proxied.Header.Get("ETag") == tag {
		t.Error("cards with other URLs have the same ETag")
	}
	b.Get("/a2a/.well-known/agent-card.json").Want(t, 404, "/a2a/NAME/")
	b.Get("/a2a/chat").Want(t, 405, "JSON-RPC", "/a2a/chat"+card)
	b.Get("/a2a/chat/").Want(t, 405, "JSON-RPC", "/a2a/chat"+card)
	b.Post("/a2a/chat/nothing", "{}").Want(t, 404, "nothing at this path")
	b.Do("DELETE", "/a2a/chat/tasks", "").Want(t, 405, "GET")
	b.Do("GET", "/a2a/chat/v1/message:send", "").Want(t, 405, `"code":-32601`)
	b.Do("GET", "/a2a/chat/v1/tasks", "", "A2A-Version", "1.0").Want(t, 400, "VERSION_NOT_SUPPORTED", "The request is of version 0.3")
	served(t, "a2a: {legacy: false}").Get("/a2a/chat/v1/tasks").Want(t, 400, "VERSION_NOT_SUPPORTED")
}

// TestCardsAndKeys checks that public cards need no key and say which one the agent needs, and that only a caller with a
// key gets the extended card, which names the assistants.
func TestCardsAndKeys(t *testing.T) {
	t.Parallel()
	const key = "a-key-of-alice-which-is-long"
	b := served(t, "auth: {keys: [{id: alice, key: "+key+"}]}")
	b.Get("/a2a/chat"+card).Want(t, 200, `"apiKey"`, `"x-api-key"`, `"bearer"`, `"security":[{"apiKey":[]},{"bearer":[]}]`)
	b.Get(card).Want(t, 200)
	b.Get("/a2a/chat/extendedAgentCard").Want(t, 401)
	b.Get("/a2a/chat/tasks").Want(t, 401, `"status":"UNAUTHENTICATED"`)
	b.Post("/a2a/chat", request("GetTask", "{}")).Want(t, 401)
	made := b.Do("POST", "/assistants", `{"graph_id":"chat","name":"Poet","description":"Writes poems."}`, "X-Api-Key", key).OK().Text("assistant_id")
	b.Do("GET", "/a2a/chat/extendedAgentCard", "", "X-Api-Key", key).Want(t, 200, made, "Writes poems.")
	b.Do("POST", "/a2a/chat", request("agent/getAuthenticatedExtendedCard", "{}"), "X-Api-Key", key).Want(t, 200, made)
	b.Do("GET", "/a2a/"+made+"/extendedAgentCard", "", "X-Api-Key", key).Want(t, 200, b.URL+"/a2a/"+made)
	b.Do("POST", "/a2a/"+made+"/message:send", message("m", "hi", ""), "X-Api-Key", key).Want(t, 200, "TASK_STATE_COMPLETED")
}

// TestProtectedCardsArePrivate checks that shared caches do not keep a card that needs a key (RFC 9111, section 3.5).
func TestProtectedCardsArePrivate(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"true": "public, max-age=300", "false": "private, max-age=300"} {
		b := served(t, "a2a: {public_card: "+setting+"}")
		if got := b.Get("/a2a/chat/.well-known/agent-card.json").OK().Header.Get("Cache-Control"); got != want {
			t.Errorf("with public_card %s: %q, want %q", setting, got, want)
		}
	}
}

// TestSettingsOfA2A checks the keys of section a2a of the configuration.
func TestSettingsOfA2A(t *testing.T) {
	t.Parallel()
	agents := map[string]http.Handler{"a": adaptertest.NewStepAgent(adaptertest.Plain)}
	const key = "a-key-of-alice-which-is-long"
	private := rig.Configured(t, "a2a: {public_card: false}\nauth: {keys: [{id: alice, key: "+key+"}]}"+rig.OneAgent, agents)
	private.Get("/a2a/a"+card).Want(t, 401)
	private.Do("GET", "/a2a/a"+card, "", "X-Api-Key", key).Want(t, 200)

	described := rig.Configured(t, "auth: {keys: [{id: alice, key: "+key+"}]}\nagents: {a: {url: $A, description: Writes poems}, b: {url: $A}}", agents)
	described.Get("/a2a/a"+card).Want(t, 200, `"description":"Writes poems"`)
	described.Get("/a2a/b"+card).Want(t, 200, "The agent b, served by apbridge.")
	if extended := described.Do("GET", "/a2a/a/extendedAgentCard", "", "X-Api-Key", key).OK(); extended.At("description") != "Writes poems" || extended.At("skills.0.description") != "Writes poems" {
		t.Errorf("the extended card: %s", extended.Body)
	}

	off := rig.Configured(t, "a2a: {enabled: false}"+rig.OneAgent, agents)
	off.Get("/a2a/a"+card).Want(t, 404, "a2a.enabled")
	off.Post("/a2a/a", request("GetTask", "{}")).Want(t, 404, "a2a.enabled")

	modern := rig.Configured(t, "a2a: {legacy: false, input_modes: [text/plain, image/*], output_modes: [text/markdown], max_inline: 1}"+rig.OneAgent, agents)
	if got := modern.Get("/a2a/a"+card).Want(t, 200, "text/markdown", "image/*"); strings.Contains(got.String(), "0.3") {
		t.Errorf("the card without 0.3: %s", got.Body)
	}
	modern.Post("/a2a/a", request("tasks/get", `{"id":"x"}`)).Want(t, 200, "-32009")
	part := func(kind string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","mediaType":"` + kind + `"}]}}`
	}
	modern.Post("/a2a/a/message:send", part("application/x-unsupported-tck-type")).Want(t, 400, "CONTENT_TYPE_NOT_SUPPORTED", "image/*")
	done := modern.Post("/a2a/a/message:send", part("Text/Plain; charset=utf-8")).Want(t, 200)
	link := rig.TextOf(rig.Dig(done.At("task.artifacts.1"), "parts.0.url"))
	if !strings.HasPrefix(link, modern.URL) {
		t.Fatalf("a file of more than max_inline: %s", done.Body)
	}
	modern.Get(strings.TrimPrefix(link, modern.URL)).Want(t, 200, "42")
}

package operate

import (
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/mapping"
)

// accessProofs has the proofs of keys about callers. See also guardProofs.
var accessProofs = map[string]func(*testing.T){
	"a2a.enabled":                    rig.ProvenBy("cmd/apbridge", "TestSettingsOfA2A"),
	"a2a.legacy":                     rig.ProvenBy("cmd/apbridge", "TestSettingsOfA2A"),
	"a2a.public_card":                rig.ProvenBy("cmd/apbridge", "TestSettingsOfA2A"),
	"a2a.input_modes":                rig.ProvenBy("cmd/apbridge", "TestSettingsOfA2A"),
	"a2a.output_modes":               rig.ProvenBy("cmd/apbridge", "TestSettingsOfA2A"),
	"a2a.max_inline":                 rig.ProvenBy("cmd/apbridge", "TestSettingsOfA2A"),
	"auth.keys[].keys":               rig.ProvenBy("proxy/auth", "TestKeysAreRotatedWithoutInterruption"),
	"auth.keys[].expires":            rig.ProvenBy("proxy/auth", "TestKeysExpire"),
	"auth.keys[].scope":              rig.ProvenBy("cmd/apbridge", "TestEveryOperationChecksTheCaller"),
	"auth.jwt[].id":                  rig.ProvenBy("proxy/auth", "TestRefusedTokens"),
	"auth.jwt[].issuer":              rig.ProvenBy("proxy/auth", "TestRefusedTokens"),
	"auth.jwt[].jwks":                rig.ProvenBy("proxy/auth", "TestKeysOfAFile"),
	"auth.jwt[].audience":            rig.ProvenBy("proxy/auth", "TestRefusedTokens"),
	"auth.jwt[].algorithms":          rig.ProvenBy("proxy/auth", "TestRefusedTokens"),
	"auth.jwt[].leeway":              rig.ProvenBy("proxy/auth", "TestRefusedTokens"),
	"auth.jwt[].max_age":             rig.ProvenBy("proxy/auth", "TestRefusedTokens"),
	"auth.jwt[].stale":               rig.ProvenBy("proxy/auth", "TestKeysOfTheIssuer"),
	"auth.jwt[].claims.id":           rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].claims.tenant":       rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].claims.rights":       rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].claims.agents":       rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].claims.namespaces":   rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].tenant":              rig.ProvenBy("proxy/auth", "TestRefusedTokens"),
	"auth.jwt[].agents":              rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].rights":              rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].scope":               rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].queue":               rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.jwt[].namespaces":          rig.ProvenBy("proxy/auth", "TestClaimsDetermineThePrincipal"),
	"auth.certificates[].id":         rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].subject":    rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].san":        rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].tenant":     rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].agents":     rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].rights":     rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].scope":      rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].queue":      rig.ProvenBy("proxy", "TestCertificates"),
	"auth.certificates[].namespaces": rig.ProvenBy("proxy", "TestCertificates"),
}

// guardProofs has the proofs of keys about guards, each with a separate bridge.
var guardProofs = map[string]func(*testing.T){
	"auth.keys[].id": func(t *testing.T) {
		r := rig.Configured(t, strings.Replace(rig.TwoKeys, "$ONLY", "", 1), rig.Legacy(), rig.KeyEnviron...)
		r.Do("GET", "/info", "", "X-Api-Key", rig.KeyA).Want(t, 200)
		rig.Eventually(t, "the access log", func() bool {
			for _, e := range r.Logs.FilterMessage("request").All() {
				if e.ContextMap()["key"] == "alice" {
					return true
				}
			}
			return false
		})
	},
	"auth.keys[].key": func(t *testing.T) {
		r := rig.Configured(t, strings.Replace(rig.TwoKeys, "$ONLY", "", 1), rig.Legacy(), rig.KeyEnviron...)
		r.Do("GET", "/info", "").Want(t, 401)
		r.Do("GET", "/info", "", "X-Api-Key", "wrong").Want(t, 401)
		r.Do("GET", "/info", "", "Authorization", "Bearer "+rig.KeyA).Want(t, 200)
	},
	"auth.keys[].queue":  rig.ProvenBy("cmd/apbridge", "TestQueueLimitsOfThreadsAndKeys"),
	"auth.keys[].rights": rig.ProvenBy("cmd/apbridge", "TestEveryOperationChecksTheCaller"),
	"auth.keys[].tenant": rig.ProvenBy("cmd/apbridge", "TestTenantsNeverMeet"),
	"auth.keys[].agents": func(t *testing.T) {
		r := rig.Configured(t, strings.Replace(rig.TwoKeys, "$ONLY", ", agents: [a, b], rights: [run, read, write, admin]", 1)+"\n  b: {url: $A, passthrough: true}\n  c: {url: $A, passthrough: true}", rig.Legacy(), rig.KeyEnviron...)
		r.Do("POST", "/runs/wait", `{"agent_id":"c","input":"hi"}`, "X-Api-Key", rig.KeyA).Want(t, 200, `"success"`)
		r.Do("POST", "/runs/wait", `{"agent_id":"c","input":"hi"}`, "X-Api-Key", rig.KeyB).Want(t, 404, mapping.CodeAgentNotFound)
		r.Do("GET", "/agents/b/upstream/ap/v1/agent/tasks", "", "X-Api-Key", rig.KeyB).Want(t, 200)
		r.Do("GET", "/agents/c/upstream/ap/v1/agent/tasks", "", "X-Api-Key", rig.KeyB).Want(t, 404)
		r.Do("GET", "/agents/c/ap/v1/agent/tasks", "", "X-Api-Key", rig.KeyB).Want(t, 404)
	},
	"cors.origins": func(t *testing.T) {
		r := rig.Configured(t, "cors: {origins: ['http://page.example']}"+rig.OneAgent, rig.Legacy())
		got := r.Do("GET", "/ok", "", "Origin", "http://page.example").Want(t, 200)
		if v := got.Header.Get("Access-Control-Allow-Origin"); v != "http://page.example" {
			t.Errorf("exposed headers: %q", v)
		}
		r.Do("GET", "/ok", "", "Origin", "http://other.example").Want(t, 403)
	},
}

package operate

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"go.uber.org/zap"
)

// serverProofs has the proofs of keys about the whole process.
var serverProofs = map[string]func(*testing.T){
	"listen": func(t *testing.T) {
		addr := rig.FreeAddress(t)
		r := rig.Configured(t, "listen: "+addr+rig.OneAgent, rig.Legacy())
		if r.URL != "http://"+addr {
			t.Errorf("it listens on %s", r.URL)
		}
	},
	"admin": func(t *testing.T) {
		addr := rig.FreeAddress(t)
		r := rig.Configured(t, "admin: "+addr+rig.OneAgent, rig.Legacy())
		r.Do("GET", "/debug/pprof/", "").Want(t, 404)
		if status := rig.Status(t, "http://"+addr+"/debug/pprof/"); status != 200 {
			t.Errorf("pprof on the admin listener: %d", status)
		}
	},
	"log.level":  rig.ProvenBy("cmd/apbridge", "TestLogIsSet"),
	"log.format": rig.ProvenBy("cmd/apbridge", "TestLogIsSet"),
	"database": func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "elsewhere.db")
		rig.Configured(t, "database: "+file+rig.OneAgent, rig.Legacy())
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	},
	"tls.cert":      rig.ProvenBy("proxy", "TestTLSWithEitherVersionOfHTTP"),
	"tls.client_ca": rig.ProvenBy("proxy", "TestClientCertificates"),
	"tls.key":       rig.ProvenBy("proxy", "TestTLSWithEitherVersionOfHTTP"),
	"synchronous":   rig.ProvenBy("proxy/store/sqldb", "TestSynchronousIsAsConfigured"),
	"secure_delete": func(t *testing.T) {
		storetest.File(t)
		for key, want := range map[string]bool{"": true, "secure_delete: true\n": false} {
			file := filepath.Join(t.TempDir(), "a.db")
			r := rig.Configured(t, "database: "+file+"\n"+key+rig.OneAgent, rig.Legacy())
			const path, text = "/threads/01980000-0000-7000-8000-0000000000aa", "what nobody is to find again"
			r.Do("POST", "/threads", `{"thread_id":"01980000-0000-7000-8000-0000000000aa","metadata":{"said":"`+text+`"}}`).Want(t, 200, text)
			r.Do("DELETE", path, "").Want(t, 204)
			r.End()
			data, err := os.ReadFile(file)
			if found := bytes.Contains(data, []byte(text)); err != nil || found != want {
				t.Errorf("%q: the text is in the file: %v, want %v, %v", key, found, want, err)
			}
		}
	},
	"encryption.keys": rig.ProvenBy("cmd/apbridge/internal/rig/operate", "TestNoFileContainsSealedText"),
	"encryption.write": func(t *testing.T) {
		storetest.File(t)
		file := filepath.Join(t.TempDir(), "a.db")
		text := "database: " + file + rig.OneAgent + "\nencryption: {keys: ['env:KEY']}"
		key := "KEY=" + sealingKey
		r := rig.Configured(t, text, rig.Legacy(), key)
		at := storeEverywhere(t, r)
		r.End()
		r = rig.Configured(t, strings.Replace(text, "['env:KEY']", "['env:KEY'], write: plain", 1), rig.Legacy(), key)
		done := "all database bodies are in the current format"
		rig.Eventually(t, "sealed text is decrypted", func() bool { return r.Logs.FilterMessage(done).Len() > 0 })
		r.End()
		rig.Configured(t, "database: "+file+rig.OneAgent, rig.Legacy()).Get(at+"/state").Want(t, 200, privateWord)
	},
	"shutdown_grace": rig.ProvenBy("cmd/apbridge", "TestHangingStepDoesNotKeepTheProcess"),
	"default_agent": func(t *testing.T) {
		two := "\nagents: {a: {url: $A}, b: {url: $A}}"
		rig.Configured(t, two, rig.Legacy()).Wait("hi").Want(t, 422, "default_agent")
		rig.Configured(t, "default_agent: b"+two, rig.Legacy()).Wait("hi").Want(t, 200, `"agent_id":"b"`)
	},
	"hosts": func(t *testing.T) {
		r := rig.Configured(t, "hosts: [bridge.local]"+rig.OneAgent, rig.Legacy())
		r.Do("GET", "/ok", "", "Host", "bridge.local").Want(t, 200)
		r.Do("GET", "/ok", "", "Host", "other.local").Want(t, 403, "hosts")
	},
	"trusted_proxies": func(t *testing.T) {
		for text, from := range map[string]string{"": "127.0.0.1", "trusted_proxies: [127.0.0.1]": "10.1.2.3"} {
			r := rig.Configured(t, text+rig.OneAgent, rig.Legacy())
			r.Do("GET", "/ok", "", "X-Forwarded-For", "10.1.2.3").Want(t, 200)
			rig.Eventually(t, "the access log", func() bool {
				return len(r.Logs.FilterMessage("request").FilterField(zap.String("from", from)).All()) > 0
			})
		}
	},
	"limits.body": func(t *testing.T) {
		r := rig.Configured(t, "limits: {body: 1KiB}"+rig.OneAgent, rig.Legacy())
		r.Wait(strings.Repeat("x", 900)).Want(t, 200)
		r.Wait(strings.Repeat("x", 1100)).Want(t, 413, "limits.body")
	},
	"limits.max_json_depth": func(t *testing.T) {
		r := rig.Configured(t, "limits: {max_json_depth: 5}"+rig.OneAgent, rig.Legacy())
		deep := func(n int) string {
			return `{"metadata":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n+1)
		}
		r.Do("POST", "/threads", deep(4)).Want(t, 200)
		if got := r.Do("POST", "/threads", deep(5)); got.Status/100 != 4 {
			t.Errorf("too deep: %d %s", got.Status, got.String())
		}
		if got := r.Do("POST", "/ap/v1/agent/tasks", strings.Replace(deep(5), "metadata", "additional_input", 1)); got.Status/100 != 4 {
			t.Errorf("too deep, v1: %d %s", got.Status, got.String())
		}
	},
	"limits.artifact": func(t *testing.T) {
		r := rig.Configured(t, "limits: {artifact: 1KiB}"+rig.OneAgent, rig.Legacy())
		task := r.Task(`{"input":"hi"}`)
		form := func(n int) string {
			return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\n" + strings.Repeat("x", n) + "\r\n--b--\r\n"
		}
		upload := func(n int) rig.Answer {
			return r.Do("POST", task+"/artifacts", form(n), "Content-Type", "multipart/form-data; boundary=b")
		}
		upload(1024).Want(t, 200)
		upload(1025).Want(t, 413, "1024 bytes")
	},
	"limits.event": func(t *testing.T) {
		long := &adaptertest.StepAgent{Kind: adaptertest.Plain, Script: []adaptertest.ScriptStep{{Output: `"` + strings.Repeat("x", 5000) + `"`, Last: true}}}
		agents := map[string]http.Handler{"a": long}
		rig.Configured(t, rig.OneAgent, agents).Wait("hi").Want(t, 200, `"status":"success"`)
		rig.Configured(t, "limits: {event: 4KiB}"+rig.OneAgent, agents).Wait("hi").Want(t, 200, `"status":"error"`, "limits.event")
	},
	"limits.database": func(t *testing.T) {
		storetest.File(t)
		r := rig.Configured(t, "limits: {database: 1MiB}"+rig.OneAgent, rig.Legacy())
		item := `{"namespace":["n"],"key":"k","value":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
		r.Do("PUT", "/store/items", item).Want(t, 507, "storage_full")
		r.Wait("hi").Want(t, 200, `"status":"success"`)
	},
	"limits.upload_rate":           rig.ProvenBy("proxy", "TestSlowUploadGetsAResponse"),
	"limits.run_events":            rig.ProvenBy("cmd/apbridge", "TestRunThatLogsTooMuch"),
	"limits.run_bytes":             rig.ProvenBy("cmd/apbridge", "TestRunThatLogsTooMuch"),
	"limits.queue":                 rig.ProvenBy("cmd/apbridge", "TestQueueLimitsOfThreadsAndKeys"),
	"limits.max_files_per_request": rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestLimitsOfOneRequest"),
	"limits.messages":              rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestLimitsOfOneRequest"),
	"limits.max_state_keys":        rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestLimitsOfOneRequest"),
	"limits.max_supersteps":        rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestLimitsOfOneRequest"),
	"limits.max_prune_threads":     rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestLimitsOfOneRequest"),
	"limits.crons":                 rig.ProvenBy("cmd/apbridge/internal/rig/fault", "TestLimitsOfOneRequest"),
	"limits.request_memory":        rig.ProvenBy("proxy", "TestBodiesTogether"),
	"limits.thread_queue":          rig.ProvenBy("cmd/apbridge", "TestQueueLimitsOfThreadsAndKeys"),
	"retention.events":             rig.ProvenBy("proxy/maintenance", "TestRetention"),
	"retention.checkpoints":        rig.ProvenBy("proxy/maintenance", "TestRetention"),
	"retention.stateless":          rig.ProvenBy("proxy/maintenance", "TestStatelessRunIsKeptForAnHour"),
	"retention.failed":             rig.ProvenBy("proxy/maintenance", "TestStatelessRunIsKeptForAnHour"),
	"retention.threads":            rig.ProvenBy("proxy/maintenance", "TestRetention"),
	"webhooks.allow_private_networks": func(t *testing.T) {
		const body = `{"input":"hi","webhook":"http://127.0.0.1:1/hook"}`
		rig.Configured(t, rig.OneAgent, rig.Legacy()).Do("POST", "/runs/wait", body).Want(t, 422, "webhook")
		rig.Configured(t, "webhooks: {allow_private_networks: true}"+rig.OneAgent, rig.Legacy()).Do("POST", "/runs/wait", body).Want(t, 200, `"status":"success"`)
	},
	"webhooks.hosts": func(t *testing.T) {
		webhook := func(host string) string {
			return `{"agent_id":"a","webhook":"https://` + host + `/x","input":{"messages":[{"role":"user","content":"hi"}]}}`
		}
		b := rig.Configured(t, "webhooks: {hosts: ['*.hooks.example']}"+rig.OneAgent, rig.Legacy())
		b.Do("POST", "/runs/wait", webhook("a.hooks.example")).Want(t, 200, `"status":"success"`)
		b.Do("POST", "/runs/wait", webhook("hooks.example.net")).Want(t, 422, "webhooks.hosts")
	},
	"webhooks.secret":          rig.ProvenBy("proxy/webhook", "TestDeliveryHasSignatureAndID"),
	"webhooks.previous_secret": rig.ProvenBy("proxy/webhook", "TestSecretsAreRotated"),
}

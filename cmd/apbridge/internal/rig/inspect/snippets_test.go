package inspect

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// signature has the arguments that a callable of a Python package accepts.
type signature struct {
	places   int // arguments without a name
	keywords []string
}

// pythonSignatures has the callables of Python packages that the example programs may use, by their names in the programs.
// Sources:
//   - langgraph-sdk 0.4.3: _sync/client.py, _sync/runs.py (wait), and
//   - agent-protocol-client 1.1.0: configuration.py, api_client.py, api/agent_api.py, models/task_request_body.py.
//
// Every program ran unchanged with both when this was written.
var pythonSignatures = map[string]signature{
	"get_sync_client": {0, []string{"url", "api_key", "headers", "timeout"}},
	"client.runs.wait": {2, []string{
		"input", "command", "metadata", "config", "context", "checkpoint", "checkpoint_id", "interrupt_before", "interrupt_after", "webhook", "on_disconnect",
		"on_completion", "multitask_strategy", "if_not_exists", "after_seconds", "langsmith_tracing", "raise_error", "headers", "params", "on_run_created", "durability",
	}},

	"Configuration":                 {11, []string{"host", "api_key", "api_key_prefix", "username", "password", "access_token", "ssl_ca_cert"}},
	"ApiClient":                     {4, []string{"configuration", "header_name", "header_value", "cookie"}},
	"client.set_default_header":     {2, []string{"header_name", "header_value"}},
	"AgentApi":                      {1, []string{"api_client"}},
	"TaskRequestBody":               {0, []string{"input", "additional_input"}},
	"agent.create_agent_task":       {1, []string{"task_request_body"}},
	"agent.execute_agent_task_step": {2, []string{"task_id", "step_request_body"}},

	"asyncio.run": {1, nil}, "json.loads": {1, nil}, "main": {}, "print": {1, nil},
}

// pythonMembers has the members of their results that the programs may read (models/task.py, models/step.py).
var pythonMembers = []string{"task.task_id", "step.output", "step.is_last", "os.environ"}

var (
	pythonText   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	pythonNested = regexp.MustCompile(`\[[^][(){}]*\]|\{[^][(){}]*\}`)
	pythonCall   = regexp.MustCompile(`([A-Za-z_][A-Za-z_0-9.]*)\(([^][(){}]*)\)`)
	pythonNamed  = regexp.MustCompile(`^\s*([a-z_]+)=`)
	pythonMember = regexp.MustCompile(`[A-Za-z_]+(?:\.[A-Za-z_]+)+`)
)

// checkPython reports each call and member in a program that its packages do not have.
func checkPython(t *testing.T, program string) {
	t.Helper()
	text := pythonText.ReplaceAllString(program, "0")
	members := text
	for before := ""; text != before; {
		before = text
		text = pythonNested.ReplaceAllString(text, "0")
		if m := pythonCall.FindStringSubmatchIndex(text); m != nil {
			checkPythonCall(t, program, text[m[2]:m[3]], text[m[4]:m[5]])
			text = text[:m[0]] + "0" + text[m[1]:]
		}
	}
	if strings.ContainsAny(text, "(){}[]") {
		t.Errorf("cannot parse %s\n%s", text, program)
	}
	for _, name := range pythonMember.FindAllString(members, -1) {
		if _, called := pythonSignatures[name]; !called && !slices.Contains(pythonMembers, name) {
			t.Errorf("%s is not a known member:\n%s", name, program)
		}
	}
}

func checkPythonCall(t *testing.T, program, name, given string) {
	t.Helper()
	may, known := pythonSignatures[name]
	if !known {
		t.Errorf("%s is not a known callable:\n%s", name, program)
	}
	places := 0
	for one := range strings.SplitSeq(given, ",") {
		switch named := pythonNamed.FindStringSubmatch(one); {
		case named != nil && !slices.Contains(may.keywords, named[1]):
			t.Errorf("%s has no parameter %s:\n%s", name, named[1], program)
		case named == nil && strings.TrimSpace(one) != "":
			places++
		}
	}
	if places > may.places {
		t.Errorf("%s accepts %d positional arguments, not %d:\n%s", name, may.places, places, program)
	}
}

// runCopied runs a program unchanged. testdata/snippets replaces the Python packages: it has the callables of
// pythonSignatures and sends the same requests as the packages. .e2e/docs.mjs runs JavaScript with the real package.
func runCopied(t *testing.T, language, code, key, want string) {
	t.Helper()
	program := map[string][]string{"curl": {"sh", "-c"}, "Python": {"python3", "-c"}}[language]
	if language == "Python" {
		checkPython(t, code)
	}
	if program == nil {
		return
	}
	if _, err := exec.LookPath(program[0]); err != nil {
		t.Logf("%s is not tried: %v", language, err)
		return
	}
	stubs, err := filepath.Abs("testdata/snippets")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program[0], program[1], code)
	cmd.Env = append(os.Environ(), "APBRIDGE_KEY="+key, "PYTHONPATH="+stubs, "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) || strings.Contains(string(out), `"code"`) {
		t.Errorf("%s: %v\n%s\n%s", language, err, code, out)
	}
}

// TestDocsSnippets runs the first programs unchanged, with and without a key, for the default agent and another one.
func TestDocsSnippets(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ yaml, key string }{
		"no keys":       {"default_agent: alpha\nagents: {alpha: {url: $A}}", ""},
		"no default":    {"agents: {alpha: {url: $A}, beta: {url: $A}}", ""},
		"a key":         {twoAgents, rig.KeyA},
		"another agent": {twoAgents, rig.KeyB},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := rig.Configured(t, c.yaml, rig.Legacy(), rig.KeyEnviron...)
			all := snippets(t, r, keyHeader(c.key)...)
			for id, language := range map[string]string{"curl": "curl", "curl-v1": "curl", "python": "Python", "python-v1": "Python"} {
				runCopied(t, language, all[id], c.key, "hi")
			}
		})
	}
}

func keyHeader(key string) []string {
	if key == "" {
		return nil
	}
	return []string{"X-Api-Key", key}
}

// TestInspectorProgramsRepeatTheRun checks that the programs next to "Run again" repeat the run with the same input,
// whatever its text, in every language that is installed.
func TestInspectorProgramsRepeatTheRun(t *testing.T) {
	t.Parallel()
	const said = "hi $(id) `id` 'a' \u202eé😀"
	for what, c := range map[string]struct{ yaml, key string }{
		"no keys": {"default_agent: alpha\nagents: {alpha: {url: $A, dialect: taskstep}}", ""},
		"a key":   {twoAgents, rig.KeyB},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := rig.Configured(t, c.yaml, rig.Legacy(), rig.KeyEnviron...)
			agent := map[string]string{"": "alpha", rig.KeyB: "beta"}[c.key]
			r.Do("POST", "/runs/wait", `{"assistant_id":"`+agent+`","input":{"messages":[{"role":"user","content":"`+said+`"}]}}`, keyHeader(c.key)...).OK()
			run := r.Do("GET", "/inspect", "", keyHeader(c.key)...).OK().Text("runs.0.run_id")
			var shown struct {
				Programs []struct{ Code []adapter.Snippet }
			}
			if err := json.Unmarshal(r.Do("GET", "/inspect/runs/"+run+"/again", "", keyHeader(c.key)...).OK().Body, &shown); err != nil {
				t.Fatal(err)
			}
			tried, made := map[string]int{}, map[string]bool{}
			for _, dialect := range shown.Programs {
				for _, code := range dialect.Code {
					tried[code.Language]++
					runCopied(t, code.Language, code.Text, c.key, "hi $(id) `id` 'a' ")
					listed := r.Do("GET", "/inspect?text="+url.QueryEscape("$(id)"), "", keyHeader(c.key)...).OK()
					for i := range listed.List("runs") { // a run without a kept thread is listed for 5 s
						made[listed.Text(fmt.Sprintf("runs.%d.run_id", i))] = true
					}
				}
			}
			if tried["curl"] != 3 || tried["Python"] != 2 || tried["JavaScript"] != 1 {
				t.Errorf("programs: %v", tried)
			}
			if made[run] = true; len(made) != 6 {
				t.Errorf("%d runs were created", len(made))
			}
		})
	}
}

// TestProgramsSendATokenIfThereAreNoKeys checks that programs send a token in the place of a key to a bridge that only
// accepts an issuer's tokens.
func TestProgramsSendATokenIfThereAreNoKeys(t *testing.T) {
	t.Parallel()
	jwks, addr := filepath.Join(t.TempDir(), "jwks.json"), rig.FreeAddress(t)
	rig.WriteFile(t, jwks, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","use":"sig","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
	b := rig.Configured(t, "admin: "+addr+"\nauth: {jwt: [{id: idp, issuer: 'https://idp.example', jwks: "+jwks+", audience: [bridge]}]}"+rig.OneAgent, rig.Legacy())
	for id, code := range snippets(t, b) {
		if !strings.Contains(code, "APBRIDGE_KEY") {
			t.Errorf("%s of /docs: %s", id, code)
		}
	}
	b.URL = "http://" + addr // where no key is required
	form := confirmation(t, b, "/inspect/agents/a/try", url.Values{"text": {"hi"}})
	submit(t, b, "/inspect/agents/a/try", form).Want(t, 303)
	programs := b.Get("/inspect/runs/" + newestRun(b) + "/again").OK()
	for _, dialect := range programs.List("programs") {
		for _, code := range dugList(dialect, "code") {
			if text, _ := rig.Dig(code, "text").(string); !strings.Contains(text, "APBRIDGE_KEY") {
				t.Errorf("the inspector's program: %s", text)
			}
		}
	}
}

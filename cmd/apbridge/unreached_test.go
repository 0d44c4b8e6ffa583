package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/examples/legacyagent"
	"github.com/apbridge/apbridge/examples/threadagent"
)

// answering is a server that answers each request with that status.
func answering(t *testing.T, status int) string {
	t.Helper()
	return serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
}

// outOfReach are agents that no run can reach, each with the expected message for every dialect. A call with a body may
// end before the part of the response that was read is reported, so two of them have two messages. Nothing listens on
// port 1, and no other test may be given it.
func outOfReach(t *testing.T) map[string]struct{ url, says string } {
	legacy, graph := serving(t, legacyagent.Handler()), serving(t, threadagent.Handler())
	return map[string]struct{ url, says string }{
		"refused":  {"http://127.0.0.1:1", "nothing is listening there \\(connection refused\\)"},
		"unknown":  {"http://agent.invalid:8000", "host name is not known on this machine"},
		"no-tls":   {"https" + strings.TrimPrefix(legacy, "http"), "write http:// instead of https://"},
		"tls":      {"http://" + adaptertest.Talker(t, "\x15\x03\x01\x00\x02\x02\x16"), "write https:// instead of http://|requires https://"},
		"slow":     {"http://" + adaptertest.Silence(t), "did not answer|sent nothing"},
		"no-http":  {"http://" + adaptertest.Talker(t, "220 mail.example.com ESMTP\r\n"), "speaks? HTTP"},
		"page":     {serving(t, http.NotFoundHandler()), ".url"},
		"path":     {legacy + "/docs", "without a path, which is " + legacy + " here"},
		"refusing": {answering(t, http.StatusUnauthorized), "credentials"},
		"leading":  {answering(t, http.StatusMovedPermanently), "redirect"},
		"failing":  {answering(t, http.StatusBadGateway), "502"},
		"path-too": {graph + "/docs", "without a path, which is " + graph + " here"},
	}
}

// TestWhyAnAgentIsNotReached checks that the run's error, its explanation and doctor have a message for each reason,
// whether the agent's dialect is configured or must be detected.
func TestWhyAnAgentIsNotReached(t *testing.T) {
	t.Parallel()
	agents := outOfReach(t)
	var text strings.Builder
	fmt.Fprintf(&text, "listen: 127.0.0.1:0\nshutdown_grace: 100ms\ndatabase: %s\ndefault_agent: slow-auto\nagents:\n", filepath.Join(t.TempDir(), "a.db"))
	for name, a := range agents {
		for _, dialect := range []string{"auto", "taskstep", "threadrun"} {
			fmt.Fprintf(&text, "  %s-%s: {url: '%s', dialect: %s, step_timeout: 2s, concurrency: 4}\n", name, dialect, a.url, dialect)
		}
	}
	file := filepath.Join(t.TempDir(), "bridge.yaml")
	rig.WriteFile(t, file, text.String())
	url := startProgram(t, nil, "serve", "--config", file).err.Await(t, `"msg":"serving","url":"([^"]+)"`)
	_, doctored, _ := command(t, nil, "doctor", "--config", file)
	for name, a := range agents {
		for _, dialect := range []string{"auto", "taskstep", "threadrun"} {
			t.Run(name+"-"+dialect, func(t *testing.T) {
				t.Parallel()
				agent := name + "-" + dialect
				found := regexp.MustCompile(`(?m)^` + agent + ` at .*\n(?:  .*\n)*`).FindString(doctored)
				matches(t, found, "cannot be used: (?s).*("+a.says+")")
				res, err := http.Post(url+"/runs/wait", "application/json", strings.NewReader(`{"assistant_id":"`+agent+`","input":"hi"}`))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				said, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				matches(t, string(said), `"__error__".*(`+a.says+`)`)
				code, out, errs := command(t, nil, "runs", "explain", filepath.Base(res.Header.Get("Content-Location")), "--url", url)
				if code != 0 {
					t.Error(errs)
				}
				matches(t, strings.Join(strings.Fields(out), " "), a.says)
			})
		}
	}
}

func matches(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("%s is not in:\n%s", pattern, text)
	}
}

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// TestTheCommandLineWorks runs the SDK's command a2a against the bridge over both bindings of version 1.0.
func TestTheCommandLineWorks(t *testing.T) {
	bridge := os.Getenv("E2E_BRIDGE")
	if bridge == "" {
		t.Skip("E2E_BRIDGE names no bridge; .e2e/run starts one")
	}
	program := filepath.Join(t.TempDir(), "a2a")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/a2aproject/a2a-go/v2/cmd/a2a").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	agent := bridge + "/a2a/jsagent"
	for _, transport := range []string{"jsonrpc", "rest"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			command := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), program, append([]string{"--transport", transport, "-o", "json"}, args...)...)
				var errs strings.Builder
				cmd.Stderr = &errs
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("a2a %q: %v\n%s%s", args, err, out, errs.String())
				}
				return string(out)
			}
			wants := func(out string, all ...string) {
				t.Helper()
				for _, want := range all {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in %s", want, out)
					}
				}
			}
			var task a2a.Task
			sent := command("send", agent, "write it")
			if err := json.Unmarshal([]byte(sent), &task); err != nil || task.ID == "" {
				t.Fatalf("%v: %s", err, sent)
			}
			id, completed := string(task.ID), string(a2a.TaskStateCompleted)
			wants(command("discover", agent), "supportedInterfaces", agent)
			wants(command("get", "task", agent, id), id, completed, "done")
			wants(command("list", "tasks", agent, "--context", task.ContextID), id, completed)
			wants(command("send", agent, "--stream", "write it"), "artifact", completed)

			begin := func(words string) string {
				t.Helper()
				begun := command("send", agent, "--immediate", words)
				if err := json.Unmarshal([]byte(begun), &task); err != nil {
					t.Fatalf("%v: %s", err, begun)
				}
				return string(task.ID)
			}
			wants(command("subscribe", agent, begin("slow 2000")), "artifact", "done", completed)
			wants(command("cancel", agent, begin("forever")), string(a2a.TaskStateCanceled))
		})
	}
}

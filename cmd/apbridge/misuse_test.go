package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// An invalid command line exits with 2 and reports the unknown part, the valid ones, and where to read on. A failed
// attempt exits with 1. Neither writes to standard output.
func TestMisuse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	binary, odd := rig.Binary(t), filepath.Join(folder, "odd.yaml")
	rig.WriteFile(t, odd, "lisen: x\nagents: {a: {url: 'http://127.0.0.1:1', concurrency: many}}\n")
	for line, want := range map[string]struct {
		code int
		says []string
	}{
		"serv":            {2, []string{`unknown command "serv"`, "Did you mean serve?", "demo, doctor, export, health", "apbridge --help"}},
		"nonsense":        {2, []string{`unknown command "nonsense". The commands are `}},
		"serve extra":     {2, []string{"apbridge serve takes no arguments", `"extra"`, "--config", "apbridge serve --help"}},
		"serve --nope":    {2, []string{"unknown flag: --nope", "--agent, --config, --cors-origin, --database", "apbridge serve --help"}},
		"serve --listen":  {2, []string{"flag needs an argument: --listen"}},
		"serve --agent x": {2, []string{`"x" is not NAME=URL`}},
		"serve --agent a=http://127.0.0.1:1 --agent a=http://127.0.0.1:2": {2, []string{`"a" is given twice`}},
		"completion fishy":      {2, []string{"Did you mean fish?", "bash, fish, powershell, zsh"}},
		"run x":                 {2, []string{"apbridge run AGENT TEXT", "arguments given: 1"}},
		"serve -c NO.yaml":      {2, []string{"NO.yaml: cannot be read: no such file", "apbridge init --config NO.yaml"}},
		"validate -c " + folder: {2, []string{folder + ": cannot be read: is a directory"}},
		"validate -c " + odd: {2, []string{`odd.yaml:1: lisen: there is no such key; did you mean "listen"?`,
			`odd.yaml:2: agents.a.concurrency: must be a whole number, not "many"`}},
	} {
		t.Run(strings.Fields(line)[0], func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			cmd := exec.CommandContext(t.Context(), binary, strings.Fields(line)...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &errs
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != want.code || out.Len() > 0 {
				t.Errorf("%s: %v, want %d; printed %s", line, err, want.code, &out)
			}
			holds(t, errs.String(), want.says...)
		})
	}
}

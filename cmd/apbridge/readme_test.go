package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadmeCommands: a newcomer copies one command, and so do scripts.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)^.*?\n```sh\n(.*?)\n```\n")
	for heading, want := range map[string]string{
		"Run it":  "go run ./cmd/apbridge demo",
		"Test it": "go test ./...",
	} {
		_, section, _ := strings.Cut(string(raw), "\n## "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if diff := cmp.Diff(want, block.FindStringSubmatch("\n" + section)[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", heading, diff)
		}
		if n := strings.Count(section, "\n```sh\n"); n != 1 {
			t.Errorf("%s: %d sh blocks", heading, n)
		}
	}
	if !strings.Contains(string(raw), "http://127.0.0.1:8080") {
		t.Error("the README does not name the URL")
	}
}

// TestReadmeConfiguration: what the README shows can be used.
func TestReadmeConfiguration(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(raw))[1]
	file := t.TempDir() + "/apbridge.yaml"
	write(t, file, text)
	from := configFlags{file: file}
	if _, err := from.load([]string{"LEGACY_TOKEN=secret"}, nil); err != nil {
		t.Error(err)
	}
}

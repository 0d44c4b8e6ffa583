//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSecretFiles checks that a secret is read only from a finite file that only its owner can read (E26).
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	put := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("own", key16, 0o600)
	put("group", key16, 0o640)
	put("read", key16, 0o644)
	put("written", key16, 0o666)
	put("groupwritten", key16, 0o660)
	put("large", strings.Repeat("x", maxSecret+1), 0o600)
	put("full", strings.Repeat("x", maxSecret), 0o600)
	for _, err := range []error{
		syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("/dev/zero", at("endless")), os.Symlink(at("own"), at("link")), os.Symlink(at("read"), at("lax")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const irregular, large = "it is not a regular file", "is larger than 64 KiB"
	const changed, open = "can be changed by users other than its owner", "can be read by every user"
	for path, tt := range map[string]struct{ refused, warned string }{
		"/dev/zero": {irregular, ""}, at("endless"): {irregular, ""}, at("pipe"): {irregular, ""}, folder: {irregular, ""}, "/dev/null": {irregular, ""},
		at("large"): {large, ""}, at("full"): {"", ""}, at("own"): {"", ""}, at("link"): {"", ""}, at("group"): {"", ""},
		at("written"): {"", changed}, at("groupwritten"): {"", changed}, at("read"): {"", open}, at("lax"): {"", open},
	} {
		var warned []string
		_, problems := loadText(t, "auth: {keys: [{id: a, key: 'file:"+path+"'}]}"+agentLine, Options{Warn: func(c Problem) { warned = append(warned, c.String()) }})
		if !strings.Contains(problems, tt.refused) || (problems != "") != (tt.refused != "") {
			t.Errorf("%s: %q, want %q", path, problems, tt.refused)
		}
		told := strings.Join(warned, "\n")
		if !strings.Contains(told, tt.warned) || (told != "") != (tt.warned != "") {
			t.Errorf("%s: warned of %q, want %q", path, told, tt.warned)
		}
	}
}

// TestEndlessConfiguration checks that the configuration can be read from a pipe, but not endlessly (E26).
func TestEndlessConfiguration(t *testing.T) {
	t.Parallel()
	_, err := Load(Options{File: "/dev/zero"})
	if err == nil || !strings.Contains(err.Error(), "/dev/zero: is larger than 4 MiB") {
		t.Errorf("error %v", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := write.WriteString("default_agent: a" + agentLine); err != nil {
		t.Fatal(err)
	}
	write.Close()
	cfg, err := Load(Options{File: "/dev/fd/" + strconv.Itoa(int(read.Fd()))})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a", cfg.DefaultAgent); diff != "" {
		t.Error(diff)
	}
}

package adapter

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// A text in a program to copy remains data whatever it contains, and has no invisible characters.
func TestTextsInProgramsAreData(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"it's $(id) `id` \"x\"", "a\u202eb\u2066c\u2028", "\x1b[31mred\x00", "😀 é", `\u0041 \n`, "line\nline", "-n", ""} {
		quoted := Quoted(text)
		var back string
		if err := json.Unmarshal([]byte(quoted), &back); err != nil || back != text {
			t.Errorf("%q is read back as %q, %v", text, back, err)
		}
		if strings.ContainsFunc(quoted, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%q is shown as %q", text, quoted)
		}
		if strings.Contains(text, "\x00") {
			continue
		}
		said, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+InShell(text)).Output()
		if text != "-n" && (err != nil || string(said) != text) {
			t.Errorf("the shell reads %q as %q, %v", text, said, err)
		}
	}
	if got := InASCII(json.RawMessage(`{"a":`)); got != "null" {
		t.Errorf("invalid JSON becomes %s", got)
	}
}

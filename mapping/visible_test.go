package mapping

import (
	"strings"
	"testing"
)

// TestEscapesAreShown checks that terminals get only text (E22).
func TestEscapesAreShown(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[31mred\x1b[0m \x1b]0;title\a \u009b2J a\rb \b\x7f \u202egpj.exe \u2066x\u2069 \u2028 \x9b2J"
	if got := string(Visible([]byte(hostile))); string(Visible([]byte(got))) != got || strings.ContainsRune(got, '\x1b') || !strings.Contains(got, `\u001b[31mred`) || !strings.Contains(got, `\u202egpj.exe`) || !strings.Contains(got, `\x9b2J`) {
		t.Errorf("shown as %q", got)
	}
	for _, plain := range []string{"", "one\ntwo\r\n\tthree", "grün 日本 👩‍👩‍👧 ﷽ עברית", `a\b`} {
		if got := string(Visible([]byte(plain))); got != plain {
			t.Errorf("%q is shown as %q", plain, got)
		}
	}
}

func TestPlainTextIsNotCopied(t *testing.T) {
	t.Parallel()
	line := []byte(`{"level":"info","msg":"a run begins\\n"}` + "\t\n")
	if got := Visible(line); &got[0] != &line[0] {
		t.Errorf("%q is copied", line)
	}
}

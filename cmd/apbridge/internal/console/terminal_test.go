package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// hostile is what an agent may say to a terminal: colours, a title, a link, a cleared screen (also as C1, in UTF-8 and
// as a byte), an overwritten line, and turned text.
const hostile = "\x1b[31mred\x1b[0m \x1b]0;title\a \x1b]8;;http://evil\x1b\\link \x1b[2J \u009b2J a\rb \b\x7f \u202egpj.exe \u2066x\u2069 \u2028"

// hostileBytes is the same in a character set that a terminal may be set to.
const hostileBytes = hostile + "\x9b2J"

// harmless reports whether text does nothing but show.
func harmless(s string) bool {
	return !strings.ContainsFunc(s, acts) && !strings.ContainsRune(s, '\x1b') && bytes.Equal(Visible([]byte(s)), []byte(s))
}

// E22: what is written to a terminal is text.
func TestE22EscapesAreShown(t *testing.T) {
	t.Parallel()
	if got := string(Visible([]byte(hostileBytes))); !harmless(got) || !strings.Contains(got, `\u001b[31mred`) || !strings.Contains(got, `\u202egpj.exe`) || !strings.Contains(got, `\x9b2J`) {
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

// E22: a log is text, in both formats, and JSON keeps its meaning.
func TestE22LogsArePlain(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "console"} {
		var out bytes.Buffer
		log, err := (&LogFlags{Level: "info", Format: format}).Open(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Sugar().Infow("said "+hostileBytes, "by", hostileBytes)
		line := out.String()
		if !harmless(line) || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: %q", format, line)
		}
		var fields struct{ By string }
		if format == "json" && (json.Unmarshal([]byte(line), &fields) != nil || fields.By != strings.ToValidUTF8(hostileBytes, "\uFFFD")) {
			t.Errorf("%q is read as %q", line, fields.By)
		}
	}
}

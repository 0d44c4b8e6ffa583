package console

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/mapping"
)

// hostile has output with which an agent may manipulate a terminal: colours, a title, a link, a cleared screen (also as
// C1, in UTF-8 and as a byte), an overwritten line, and reversed text.
const hostile = "\x1b[31mred\x1b[0m \x1b]0;title\a \x1b]8;;http://evil\x1b\\link \x1b[2J \u009b2J a\rb \b\x7f \u202egpj.exe \u2066x\u2069 \u2028"

// hostileBytes is the same in another character set that a terminal may use.
const hostileBytes = hostile + "\x9b2J"

// harmless reports whether text has no control characters with an effect.
func harmless(s string) bool {
	return bytes.Equal(mapping.Visible([]byte(s)), []byte(s)) && !strings.ContainsRune(s, '\x1b')
}

// TestLogsArePlain checks that logs contain no escape sequences in either format, and that JSON keeps its meaning
// (E22).
func TestLogsArePlain(t *testing.T) {
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

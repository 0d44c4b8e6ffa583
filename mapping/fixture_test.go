package mapping

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func asRaw(s string) json.RawMessage { return json.RawMessage(s) }

func foldOf(t testing.TB, s string) *Fold {
	t.Helper()
	f, err := NewFold(asRaw(s))
	if err != nil {
		t.Fatalf("NewFold(%s): %v", s, err)
	}
	return f
}

// stateOf is a chat of about n bytes that ends in "]}".
func stateOf(n int) string {
	var b strings.Builder
	b.WriteString(`{"title":"a chat","messages":[`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"content":%q,"additional_kwargs":{},"response_metadata":{},"id":%q,"type":"ai","tool_calls":[],"invalid_tool_calls":[]}`,
			strings.Repeat("word ", 50), MessageID("state", fmt.Sprint(i)))
	}
	b.WriteString("]}")
	return b.String()
}

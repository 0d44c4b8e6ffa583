package rule

import (
	"encoding/json"
	"fmt"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/state"
	"strings"
	"testing"
)

func asRaw(s string) json.RawMessage { return json.RawMessage(s) }

func foldOf(t testing.TB, s string) *state.Fold {
	t.Helper()
	f, err := state.NewFold(asRaw(s))
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
			strings.Repeat("word ", 50), mapping.MessageID("state", fmt.Sprint(i)))
	}
	b.WriteString("]}")
	return b.String()
}

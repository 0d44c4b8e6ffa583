package mapping

import (
	"strings"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"input", "assistant_id", "agent_id", "stream_mode", "config", "context", "ids"}
	for word, want := range map[string]string{
		"inptu": "input", "inputs": "input", "Input": "input", "assistantId": "assistant_id", "assitant_id": "assistant_id", "streamMode": "stream_mode",
		"configs": "config", "contxt": "context", "id": "ids",
		"": "", "x": "", "eval_id": "", "content_type": "", "name": "", "iput2x": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// A request is refused for a typo, but not for a name that another program uses.
func TestMisspelt(t *testing.T) {
	t.Parallel()
	known := []string{"input", "assistant_id", "agent_id", "thread_id", "stream_mode", "config", "name", "status", "ids", "prefix", "namespace", "messages", "ai", "user"}
	for word, want := range map[string]string{
		"inptu": "input", "inputs": "input", "Input": "input", "assistantId": "assistant_id", "asistent_id": "assistant_id", "assistant": "assistant_id",
		"agent": "agent_id", "threadId": "thread_id", "thread": "thread_id", "streemMod": "stream_mode", "confgi": "config", "id": "ids", "usr": "user", "AI": "ai",
		"": "", "i": "", "eventId": "", "parentId": "", "ui_config": "", "age": "", "node": "", "time": "", "state": "", "Prefer": "", "uiNamespace": "", "my_thread_id": "", "a1": "", "messageId": "",
	} {
		if got := Misspelt(word, known); got != want {
			t.Errorf("Misspelt(%q) = %q, want %q", word, got, want)
		}
	}
}

// TestLongWordsHaveNoNearest checks words as long as a body, which clients may send. Letter by letter this would take
// more than half a minute.
func TestLongWordsHaveNoNearest(t *testing.T) {
	t.Parallel()
	known := make([]string, 40)
	for i := range known {
		known[i] = strings.Repeat("a", 16)
	}
	began := time.Now()
	if got := Misspelt(strings.Repeat("a", 32<<20), known); got != "" {
		t.Errorf("the nearest name is %q", got)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

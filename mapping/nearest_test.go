package mapping

import "testing"

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

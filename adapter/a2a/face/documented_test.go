package face

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/adapter/a2a/wire"
)

// Members of a message that no agent gets are reported, but not those that the bridge itself uses.
func TestFieldsOfAMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message wire.Message
		lost    []string
	}{
		"none":       {wire.Message{}, nil},
		"a question": {wire.Message{Metadata: wire.Object(`{"interruptId":"q"}`)}, nil},
		"metadata":   {wire.Message{Metadata: wire.Object(`{"interruptId":"q","more":1}`)}, []string{"message.metadata"}},
		"extensions": {wire.Message{Extensions: []string{"https://e.example"}}, []string{"message.extensions"}},
	} {
		if got := fieldsOf(&wire.SendMessageRequest{Message: &c.message}); !slices.Equal(got, c.lost) {
			t.Errorf("%s: %v, want %v", name, got, c.lost)
		}
	}
}

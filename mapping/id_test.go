package mapping

import "testing"

func TestIDs(t *testing.T) {
	t.Parallel()
	const run = "01a1fc7d-bb54-710b-addd-8b75a500a425"
	for _, c := range []struct{ what, got, want string }{
		// A LangGraph server's ids of the assistants of these graphs.
		{"assistant hitl", AssistantID("hitl"), "d2a02ed8-fb92-5e43-81ea-cb78d82caa2f"},
		{"assistant chat", AssistantID("chat"), "eb6db400-e3c8-5d06-a834-015cb89efe69"},
		// uuid5 as computed by Python's uuid module.
		{"step", StepID(run, 1), "b93f4bd6-44d2-5c28-ac2a-1bfa61d8dbfa"},
		{"step of a foreign id", StepID("task-1", 2), "a28e6f11-80d5-5fa0-9494-a32c53f51a53"},
		{"input", MessageID(run, "input"), "d41a5b9a-e901-530a-bc2c-e3ceba96cc08"},
		// The form of ids that LangGraph accepts (is_xxh3_128_hexdigest).
		{"question", InterruptID(run, 1), "b93f4bd644d25c28ac2a1bfa61d8dbfa"},
	} {
		if c.got != c.want {
			t.Errorf("%s = %s, want %s", c.what, c.got, c.want)
		}
	}
	if a, b := NewID(), NewID(); a >= b || !IsUUID(a) || a[14] != '7' {
		t.Errorf("NewID gave %s, then %s", a, b)
	}
}

func TestIsUUID(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"01a1fc7d-bb54-710b-addd-8b75a500a425":          true,
		"01A1FC7D-BB54-710B-ADDD-8B75A500A425":          true,
		"01a1fc7dbb54710baddd8b75a500a425":              false,
		"{01a1fc7d-bb54-710b-addd-8b75a500a425}":        false,
		"urn:uuid:01a1fc7d-bb54-710b-addd-8b75a500a425": false,
		"01a1fc7d-bb54-710b-addd-8b75a500a42g":          false,
		"":                                              false, "legacy": false,
	} {
		if IsUUID(s) != want {
			t.Errorf("IsUUID(%q) = %v", s, !want)
		}
	}
}

package mapping

import "testing"

func TestErrorsAreSaidInTheWordsOfADialect(t *testing.T) {
	t.Parallel()
	wait := Advice{CapStrategy, ", or send %s enqueue", ""}
	names := Names{CapStrategy: "when_busy", CapGoto: "to"}
	for name, c := range map[string]struct {
		err          *Error
		plain, named string
	}{
		"a meaning":           {Invalidf("%s leads to %q.", CapGoto, "x"), `goto leads to "x".`, `to leads to "x".`},
		"one without a name":  {Invalidf("%s is not there.", CapUpdate), "update is not there.", "update is not there."},
		"an advice":           {Invalidf("Wait%s.", wait), "Wait.", "Wait, or send when_busy enqueue."},
		"one without a name.": {Invalidf("Wait%s.", Advice{CapState, " with %s", " a moment"}), "Wait a moment.", "Wait a moment."},
		"neither":             {Invalidf("No %d.", 1), "No 1.", "No 1."},
	} {
		if got := c.err.Message; got != c.plain {
			t.Errorf("%s: %q in no dialect, want %q", name, got, c.plain)
		}
		if got := c.err.In(names).Message; got != c.named {
			t.Errorf("%s: %q, want %q", name, got, c.named)
		}
		if got := c.err.Message; got != c.plain {
			t.Errorf("%s: the error itself says %q now", name, got)
		}
	}
}

func TestWhatIsAddedToAMessageStays(t *testing.T) {
	t.Parallel()
	e := Invalidf("%s is not there.", CapGoto)
	e.Message += " It was the second of two."
	if got, want := e.In(Names{CapGoto: "to"}).Message, "to is not there. It was the second of two."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNamesAreOfDocumentedFields(t *testing.T) {
	t.Parallel()
	fields := append(Fields("run", CapInput, "first", "second"), BridgedFields("run", "id")...)
	if got := NamesOf(fields); len(got) != 1 || got[CapInput] != "first" {
		t.Errorf("%v", got)
	}
}

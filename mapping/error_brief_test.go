package mapping

import "testing"

func TestWithoutAgent(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`The agent "legacy" at 127.0.0.1:8000 cannot be reached: nothing is listening there.`: "Cannot be reached: nothing is listening there.",
		`Agent "legacy" at 127.0.0.1:8000 answered 500 to POST /x: no`:                        "Answered 500 to POST /x: no",
		`Agent "legacy" ended the run with an error and gave no reason.`:                      "Ended the run with an error and gave no reason.",
		`Agent legacy has as many runs at a time as it may (concurrency: 1).`:                 "Has as many runs at a time as it may (concurrency: 1).",
		`Agent "other" ended the run with an error and gave no reason.`:                       `Agent "other" ended the run with an error and gave no reason.`,
		`The run was cancelled.`: `The run was cancelled.`,
		`Agent "legacy" at x`:    `Agent "legacy" at x`,
		``:                       ``,
	} {
		if got := WithoutAgent("legacy", message); got != want {
			t.Errorf("%s\nis shown as %s\nwant        %s", message, got, want)
		}
	}
}

func TestWithoutTraceback(t *testing.T) {
	t.Parallel()
	const trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n"
	for message, want := range map[string]string{
		trace + "ValueError: no.\n":           "ValueError: no.",
		"Answered 500: " + trace + "KeyError": "Answered 500: KeyError",
		trace:                                 trace, // without its end
		trace + "  File ":                     trace + "  File ",
		"Traceback (most recent call last):":  "Traceback (most recent call last):",
		"No trace.\nAnd no error.":            "No trace.\nAnd no error.",
		"":                                    "",
	} {
		if got := WithoutTraceback(message); got != want {
			t.Errorf("%q is shown as %q, want %q", message, got, want)
		}
	}
}

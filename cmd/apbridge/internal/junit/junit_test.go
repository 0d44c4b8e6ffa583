package junit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/junit"
	"github.com/google/go-cmp/cmp"
)

// TestWrite checks that results are counted, that markup is escaped, and that a time of 0 is written only for cases.
func TestWrite(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	began := time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("", 3600))
	err := junit.Write(&b,
		junit.Suite{Name: `a "b"`, Began: began, Took: 1500 * time.Millisecond, Cases: []junit.Case{
			{Class: "c", Name: "passed", Out: "said <this>"},
			{Class: "c", Name: "failed", Time: 0.25, Failure: &junit.Why{Message: "no & no", Text: "more"}},
			{Class: "c", Name: "broken", Error: &junit.Why{Message: "broke"}},
			{Class: "c", Name: "skipped", Skipped: &junit.Why{Message: "not here"}},
		}},
		junit.Suite{Name: "none", Began: began},
	)
	if err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="a &#34;b&#34;" tests="4" failures="1" errors="1" skipped="1" time="1.500" timestamp="2026-01-02T03:04:05">
    <testcase classname="c" name="passed" time="0.000">
      <system-out>said &lt;this&gt;</system-out>
    </testcase>
    <testcase classname="c" name="failed" time="0.250">
      <failure message="no &amp; no">more</failure>
    </testcase>
    <testcase classname="c" name="broken" time="0.000">
      <error message="broke"></error>
    </testcase>
    <testcase classname="c" name="skipped" time="0.000">
      <skipped message="not here"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="none" tests="0" failures="0" errors="0" skipped="0" timestamp="2026-01-02T03:04:05"></testsuite>
</testsuites>
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	if err := junit.Write(full{}, junit.Suite{}); !errors.Is(err, errFull) {
		t.Errorf("a writer that is full: %v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLossesHaveNames checks that a loss has the name of the request's own field, or else of the capability.
func TestLossesHaveNames(t *testing.T) {
	t.Parallel()
	documented := append(Fields("run", CapTranscript, "talk", "further"), Fields("other", CapLinks, "urls")...)
	agent := Capabilities{CapTranscript: Partial("Some of it."), CapItems: PassedOn()}
	meant := []Capability{CapTranscript, CapItems, CapLinks, CapTaskExtra}
	for request, want := range map[string]string{
		"run":   "talk;approximated, links;dropped, additional_task;dropped",
		"other": "transcript;approximated, urls;dropped, additional_task;dropped",
		"none":  "transcript;approximated, links;dropped, additional_task;dropped",
	} {
		if diff := cmp.Diff(want, LossHeader(UnsupportedCapabilities(documented, request, meant, agent))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", request, diff)
		}
	}
	if got := UnsupportedCapabilities(documented, "run", []Capability{CapItems}, agent); got != nil {
		t.Errorf("passed-on data is reported as lost: %v", got)
	}
}

func TestWhatIsFoundHasNamesOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range DetectedByBridge() {
		name := FieldFor(nil, "run", m).Name
		if seen[name] || name == "" || strings.ContainsAny(name, " ;,") {
			t.Errorf("%q is not a name for %q, or is the name of another one", name, m)
		}
		seen[name] = true
	}
}

package store_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/apbridge/apbridge/mapping"
	"github.com/google/go-cmp/cmp"
)

// Every stored version of a file is listed with the run that wrote it and can be read by its number, but only by
// callers that can see the thread.
func TestVersionsOfFilesAreReadWhileTheyAreKept(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, open opener) {
		b := open(t)
		first := b.create(newThreadRun())
		th := first.Run.ThreadID
		b.save(th, "given", "by a client", false)
		b.writes(first, "a", "a1", "b", "b1")
		b.end(first, mapping.RunSuccess)
		second := b.create(newRun(th, mapping.StrategyReject))
		b.writes(second, "a", "a2", "b", "", "given", "changed")
		b.end(second, mapping.RunSuccess)
		list, err := b.Artifacts.Versions(b.ctx, th)
		b.ok(err)
		names := map[string]string{first.Run.ID: "first", second.Run.ID: "second", "": "client"}
		var got []string
		for _, v := range list {
			_, body, err := b.Artifacts.OpenVersion(b.ctx, th, v.Key)
			b.ok(err)
			text, err := io.ReadAll(body)
			b.ok(err)
			got = append(got, fmt.Sprint(v.Path, " ", string(text), " ", names[v.RunID], " ", v.Visible))
		}
		want := []string{"a a2 second true", "a a1 first false", "b b1 first false", "given changed second true", "given by a client client false"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("versions (-want +got):\n%s", diff)
		}
		other := mapping.WithPrincipal(b.ctx, mapping.Principal{Tenant: "other"})
		if _, err := b.Artifacts.Versions(other, th); mapping.Classify(err).Class != mapping.NotFound {
			t.Errorf("another tenant's list: %v", err)
		}
		for what, err := range map[string]error{
			"another tenant's": onlyError(b.Artifacts.OpenVersion(other, th, list[0].Key)),
			"an unknown one":   onlyError(b.Artifacts.OpenVersion(b.ctx, th, 1<<40)),
			"another thread's": onlyError(b.Artifacts.OpenVersion(b.ctx, b.create(newThreadRun()).Run.ThreadID, list[0].Key)),
		} {
			if mapping.Classify(err).Class != mapping.NotFound {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func onlyError[A, B any](_ A, _ B, err error) error { return err }

package tables

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// While the quota is not recounted, refusals say when it will be, since deletions may have made room.
func TestSlowFullQuotaIsNotCountedAtEachRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFullness()
		f.note("short", longCount-1)
		f.note("long", longCount)
		if short, long := f.wait("short"), f.wait("long"); short != 0 || long != recountRest*longCount {
			t.Fatalf("wait %s after a short count and %s after a long one", short, long)
		}
		time.Sleep(recountRest * longCount)
		if left := f.wait("long"); left != 0 || len(f.until) != 0 {
			t.Errorf("%s left, %d rows kept", left, len(f.until))
		}
	})
	var refused int
	k := NewQuotas(nil, func(string, string) { refused++ })
	e := mapping.Classify(k.refuseUncounted(QuotaThreads, Quota{Of: QuotaOfKey, Name: "a", Most: 3, Place: "here"}, time.Second))
	if e.Class != mapping.Limited || e.Code != "quota_threads" || e.Wait != time.Second || refused != 1 {
		t.Errorf("%+v, %d refusals counted", e, refused)
	}
}

package eventlog_test

import "testing"

// A caller that waits for a run of another process is notified of its changes, including its removal, if the run's log
// is retained here.
func TestWatchersAreNotifiedOfRunsOfOtherProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	run := b.create(false).Run
	defer b.Retain(&run)()
	watch := b.Watch(run.ThreadID)
	defer watch.Leave()
	heard := func(what string, happen func()) {
		changed := watch.Next()
		happen()
		select {
		case <-changed:
		default:
			t.Errorf("no notification of %s", what)
		}
	}
	heard("an entry logged elsewhere", func() { b.Wake(run.ID) })
	heard("an entry logged while notices were lost", b.WakeAll)
	heard("the removal of the run", func() { b.Evict(run.ID) })
}

// After notices were lost, a caller that waits for a thread without a followed run looks again, too.
func TestWatchersAreNotifiedOfLostNotices(t *testing.T) {
	t.Parallel()
	b := setup(t)
	watch := b.Watch("quiet")
	defer watch.Leave()
	changed := watch.Next()
	b.WakeAll()
	select {
	case <-changed:
	default:
		t.Error("no notification")
	}
}

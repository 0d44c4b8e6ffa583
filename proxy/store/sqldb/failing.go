package sqldb

import "github.com/apbridge/apbridge/mapping/failpoint"

// failing adds the two fail points of an operation, before and after its commit. It does nothing in builds without fail
// points.
func failing(do func(*Tx) error) func(*Tx) error {
	if !failpoint.Enabled {
		return do
	}
	name := failpoint.Caller("failing", "write", "Write", "WriteRelaxed")
	return func(t *Tx) error {
		if err := do(t); err != nil {
			return err
		}
		t.After(func() { failpoint.Hit(failpoint.After(name)) })
		failpoint.Hit(failpoint.Before(name))
		return nil
	}
}

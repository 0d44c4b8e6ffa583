package store

import (
	"strconv"

	"github.com/apbridge/apbridge/proxy/store/redo"
	"go.uber.org/zap"
)

// redoPath is where the redo log of the database is, while one is needed.
func (d *sqlite) redoPath() string { return d.path + "-redo" }

// gather: see ahead for when nothing may wait.
func (d *sqlite) gather(keep func(*briefRun, runKey)) *ahead {
	if d.ahead != nil {
		d.ahead.keep = keep
	}
	return d.ahead
}

// recover runs what a process that is gone has acknowledged and left in the redo log.
// The tables are still as that process had them.
func (d *sqlite) recover() error {
	batches, err := redo.Read(d.redoPath())
	if err != nil {
		return refuse(d.path, "its redo log cannot be read: %v", err)
	}
	for _, b := range batches {
		if err := d.redo(b); err != nil {
			return refuse(d.path, "runs that were acknowledged are in %s only and cannot be taken over: %v. Free some space if there is none, and start again; to go on without those runs, delete that file", d.redoPath(), err)
		}
	}
	return removeAll(d.redoPath())
}

// redo runs a batch in a transaction of its own, unless the database has it. One that
// does not follow on what the database has is left out: a backup was put in its
// place, or the machine failed and took newer commits with it. What a run of that batch
// did later is gone then, its end too, and it would be executed a second time.
func (d *sqlite) redo(b redo.Batch) error {
	s, err := d.session()
	if err != nil {
		return err
	}
	defer s.close()
	if err := d.exec(s, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	number, err := s.number()
	if err != nil || !redo.Newer(b.Number, number) {
		return err
	}
	if b.Number != number+1 {
		d.zap.Warn("what an earlier process had acknowledged does not follow on what is in the database, and is left out", zap.Uint32("has", number), zap.Uint32("found", b.Number), zap.Int("transactions", len(b.Records)))
		return nil
	}
	if _, err := rerun(&tx{on: s, now: d.clock()}, b.Number, b.Records); err != nil {
		return err
	}
	if err := d.exec(s, "COMMIT"); err != nil {
		return err
	}
	d.zap.Info("took over what the last process had acknowledged and not written into the database", zap.Int("transactions", len(b.Records)))
	return nil
}

// number is that of the newest batch that was run on the database: nothing else is
// noted as its user_version.
func (s *session) number() (uint32, error) {
	var n int64
	err := s.get("PRAGMA user_version", nil, out{&n})
	return uint32(n), err
}

// setNumber notes it, in the transaction that runs the batch. No other text is like
// this one, so that it is not kept.
func (s *session) setNumber(n uint32) error {
	s.wrote = true
	p, err := s.prepare("PRAGMA user_version = "+strconv.Itoa(int(int32(n))), false)
	if err != nil {
		return err
	}
	defer s.letGo(p)
	_, err = p.Step()
	return err
}

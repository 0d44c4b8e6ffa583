package store

import "testing"

func TestConfirmationsOfOneTaskWaitTogether(t *testing.T) {
	t.Parallel()
	var c confirms
	mine, other := confirmed{"", "mine"}, confirmed{"", "other"}
	step := func(n int) confirmation { return confirmation{n: n} }
	first, fresh := c.add(mine, step(1))
	if !fresh {
		t.Fatal("the first step joined nothing")
	}
	if _, fresh := c.add(other, step(2)); !fresh {
		t.Error("another task's step joined")
	}
	if b, fresh := c.add(mine, step(2)); fresh || b != first {
		t.Error("the next step did not join")
	}
	if b, fresh := c.add(mine, step(4)); !fresh || b == first {
		t.Error("a step out of turn joined")
	}
	if got := c.take(mine, first); len(got) != 2 || got[1].n != 2 {
		t.Errorf("took %+v", got)
	}
	if len(c.waiting) != 2 {
		t.Errorf("%d batches wait, want the later one and the other task's", len(c.waiting))
	}
	later := c.waiting[mine]
	c.take(mine, later)
	if _, fresh := c.add(mine, step(5)); !fresh {
		t.Error("a step joined what was written already")
	}
	if got := c.take(mine, first); len(got) != 2 {
		t.Errorf("taken again: %+v", got)
	}
}

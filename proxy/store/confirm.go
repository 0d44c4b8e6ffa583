package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync"
)

// Confirm moves the cursor from n-1 to n, once, and keeps what the step was
// fetched with: the step was written to its client.
func (s *Store) Confirm(ctx context.Context, taskID string, n int, r StepRequest) error {
	return s.write(ctx, func(t *tx) error {
		return confirm(t, confirmed{tenantOf(ctx), taskID}, []confirmation{{n: n, request: r}})
	})
}

// ConfirmLater is Confirm that does not wait: told is called once with the
// outcome, and must not call the Store. Steps of one task that are confirmed in
// their order are stored in that order, those that wait together. An error says
// that nothing will be done, and nothing is told.
func (s *Store) ConfirmLater(ctx context.Context, taskID string, n int, r StepRequest, told func(error)) error {
	whose := confirmed{tenantOf(ctx), taskID}
	b, fresh := s.confirms.add(whose, confirmation{n: n, request: r, told: told})
	if !fresh {
		return nil
	}
	err := s.db.later(ctx, func(t *tx) error { return confirm(t, whose, s.confirms.take(whose, b)) }, func(err error) {
		for _, c := range s.confirms.take(whose, b) {
			c.told(s.db.classify(err))
		}
	})
	if err == nil {
		return nil
	}
	for _, c := range s.confirms.take(whose, b)[1:] { // others that relied on this one
		c.told(err)
	}
	return s.db.classify(err)
}

// confirmed names a task, confirmation one step of it.
type confirmed struct{ tenant, task string }

type confirmation struct {
	n       int
	request StepRequest
	told    func(error)
}

// confirms are the steps that wait to be confirmed, by task. Safe for
// concurrent use.
type confirms struct {
	mu      sync.Mutex
	waiting map[confirmed]*batch
}

// batch is what one operation confirms: consecutive steps of one task.
type batch struct{ steps []confirmation }

// add joins a step to those of its task that wait, if it is the next of them,
// or begins a batch.
func (c *confirms) add(whose confirmed, step confirmation) (b *batch, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.waiting[whose]; b != nil && b.steps[len(b.steps)-1].n == step.n-1 {
		b.steps = append(b.steps, step)
		return b, false
	}
	b = &batch{steps: []confirmation{step}}
	if c.waiting == nil {
		c.waiting = map[confirmed]*batch{}
	}
	c.waiting[whose] = b
	return b, true
}

// take closes a batch and returns its steps, the same ones every time.
func (c *confirms) take(whose confirmed, b *batch) []confirmation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[whose] == b {
		delete(c.waiting, whose)
	}
	return b.steps
}

// confirm moves a task's cursor over steps, if it stands right before them.
func confirm(t *tx, whose confirmed, steps []confirmation) error {
	var key int64
	first, last := steps[0].n, steps[len(steps)-1].n
	err := t.get(`UPDATE tasks SET cursor_n = $3, reserved_n = 0, reserved_until_us = 0, updated_us = $5
 WHERE tenant = $1 AND task_id = $2 AND cursor_n = $4 RETURNING id`, in{whose.tenant, whose.task, last, first - 1, t.now}, out{&key})
	if errors.Is(err, sql.ErrNoRows) {
		_, err = taskKey(t, whose.tenant, whose.task) // confirmed before, or not there
		return err
	}
	for len(steps) > 0 && err == nil {
		n := min(len(steps), rowsAtOnce)
		err = saveRequests(t, key, whose.tenant, steps[:n])
		steps = steps[n:]
	}
	return err
}

// requestRows are the INSERT texts by number of rows.
var requestRows = onConflictNothing(insertTexts(`INSERT INTO requests (task, n, has_input, input, additional) VALUES `, 5))

func onConflictNothing(texts [rowsAtOnce + 1]string) [rowsAtOnce + 1]string {
	for n := range texts {
		texts[n] += ` ON CONFLICT (task, n) DO NOTHING`
	}
	return texts
}

func saveRequests(t *tx, task int64, tenant string, steps []confirmation) error {
	args := make(in, 0, 5*len(steps))
	for _, c := range steps {
		var input []byte
		if c.request.Input != nil {
			input = []byte(*c.request.Input)
		}
		args = append(args, task, c.n, number(c.request.Input != nil), blob(input), blob(c.request.AdditionalInput))
	}
	_, err := t.exec(requestRows[len(steps)], args...)
	for i := 0; i < len(steps) && err == nil; i++ {
		err = rememberKey(t, tenant, steps[i].request.Key, strconv.Itoa(steps[i].n))
	}
	return err
}

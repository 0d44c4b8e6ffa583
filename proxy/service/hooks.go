package service

import (
	"context"
	"slices"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/webhook"
)

func (s *Service) CreateHook(ctx context.Context, ref adapter.TaskRef, h mapping.Hook) (mapping.Hook, error) {
	task, _, err := s.findTask(ctx, ref)
	if err != nil {
		return mapping.Hook{}, err
	}
	if h, err = checkedHook(h, s.engine.Config().Webhooks); err != nil {
		return mapping.Hook{}, err
	}
	mapping.AddAuditObject(ctx, "task", task.ID)
	return s.store.Tasks.PutHook(ctx, task.ID, h, s.engine.WriteEnded)
}

func (s *Service) ListHooks(ctx context.Context, ref adapter.TaskRef) ([]mapping.Hook, error) {
	task, _, err := s.findTask(ctx, ref)
	if err != nil {
		return nil, err
	}
	return s.store.Tasks.Hooks(ctx, task.ID)
}

func (s *Service) DeleteHook(ctx context.Context, ref adapter.TaskRef, id string) error {
	task, _, err := s.findTask(ctx, ref)
	if err != nil {
		return err
	}
	mapping.AddAuditObject(ctx, "task", task.ID)
	return s.store.Tasks.DeleteHook(ctx, task.ID, id)
}

// checkedHook refuses a hook that can never be notified. It sets an id if there is none.
func checkedHook(h mapping.Hook, cfg config.Webhooks) (mapping.Hook, error) {
	if err := webhook.CheckHook(h, cfg); err != nil {
		return h, err
	}
	if h.ID == "" {
		h.ID = mapping.NewID()
	}
	switch {
	case len(h.ID) > maxHookText || !mapping.IsText(h.ID):
		return h, badHook("The id of a hook must be a string of at most %d bytes.", maxHookText)
	case len(h.URL) > maxHookText || len(h.Token) > maxHookText || len(h.Credentials) > maxHookText:
		return h, badHook("The URL and the secrets of a hook must have at most %d bytes each.", maxHookText)
	case len(h.Fires) == 0:
		return h, badHook("A hook needs at least one status that fires it: %v.", mapping.TaskStatuses())
	}
	for _, status := range h.Fires {
		if !slices.Contains(mapping.TaskStatuses(), status) {
			return h, badHook("There is no task status %q. Use one or more of %v.", status, mapping.TaskStatuses())
		}
	}
	return h, nil
}

// maxHookText is the maximum size of each string of a hook, in bytes.
const maxHookText = 2048

func badHook(format string, args ...any) error {
	return mapping.Errorf(mapping.Invalid, mapping.CodeInvalid, format, args...)
}

// checkHooks checks the hooks of the request and adds them to the run's task.
func (p *runPlan) checkHooks(context.Context) error {
	for _, h := range p.req.Hooks {
		h, err := checkedHook(h, p.cfg.Webhooks)
		if err != nil {
			return err
		}
		p.out.Hooks = append(p.out.Hooks, h)
	}
	return nil
}

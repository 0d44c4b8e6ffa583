package service

import (
	"context"
	"slices"
	"strings"

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
	if h, err = s.checkedHook(h, s.engine.Config().Webhooks); err != nil {
		return mapping.Hook{}, err
	}
	mapping.AddAuditObject(ctx, "task", task.ID)
	made, err := s.store.Tasks.PutHook(ctx, task.ID, h, s.engine.WriteEnded)
	made.ID = strings.TrimPrefix(made.ID, s.dialects.HookPrefix(h.Flavour))
	return made, err
}

func (s *Service) ListHooks(ctx context.Context, ref adapter.TaskRef) ([]mapping.Hook, error) {
	task, _, err := s.findTask(ctx, ref)
	if err != nil {
		return nil, err
	}
	all, err := s.store.Tasks.Hooks(ctx, task.ID)
	var list []mapping.Hook
	for _, h := range all {
		var own bool
		if h.ID, own = strings.CutPrefix(h.ID, s.dialects.HookPrefix(ref.Flavour)); own {
			list = append(list, h)
		}
	}
	return list, err
}

func (s *Service) DeleteHook(ctx context.Context, ref adapter.TaskRef, id string) error {
	task, _, err := s.findTask(ctx, ref)
	if err != nil {
		return err
	}
	mapping.AddAuditObject(ctx, "task", task.ID)
	return s.store.Tasks.DeleteHook(ctx, task.ID, s.dialects.HookPrefix(ref.Flavour)+id)
}

// checkedHook refuses a hook that can never be notified. It returns the hook as it is stored, with an id. The fields of its
// errors begin with "hook.".
func (s *Service) checkedHook(h mapping.Hook, cfg config.Webhooks) (mapping.Hook, error) {
	if err := webhook.CheckHook(h, cfg); err != nil {
		return h, err
	}
	if h.ID == "" {
		h.ID = mapping.NewID()
	}
	for field, text := range map[string]string{"hook.id": h.ID, "hook.url": h.URL, "hook.token": h.Token, "hook.credentials": h.Credentials} {
		if len(text) > maxHookText || !mapping.IsText(text) {
			return h, mapping.InvalidAt(field, "must be a text of at most %d bytes.", maxHookText)
		}
	}
	if len(h.Fires) == 0 {
		return h, mapping.InvalidAt("hook.fires", "must have at least one of %v.", mapping.TaskStatuses())
	}
	for _, status := range h.Fires {
		if !slices.Contains(mapping.TaskStatuses(), status) {
			return h, mapping.InvalidAt("hook.fires", "There is no task status %q. Use one or more of %v.", status, mapping.TaskStatuses())
		}
	}
	h.ID = s.dialects.HookPrefix(h.Flavour) + h.ID
	return h, nil
}

// maxHookText is the maximum size of each text of a hook, in bytes.
const maxHookText = 2048

// checkHooks checks the hooks of the request and adds them to the run's task.
func (p *runPlan) checkHooks(context.Context) error {
	for _, h := range p.req.Hooks {
		h, err := p.s.checkedHook(h, p.cfg.Webhooks)
		if err != nil {
			return err
		}
		p.out.Hooks = append(p.out.Hooks, h)
	}
	return nil
}

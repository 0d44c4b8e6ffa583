package service

import (
	"context"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/rule"
	"github.com/apbridge/apbridge/proxy/engine"
	"github.com/apbridge/apbridge/proxy/service/directory"
	"github.com/apbridge/apbridge/proxy/stepping"
	"github.com/apbridge/apbridge/proxy/store"
)

// taskFinder finds tasks by what requests call them.
type taskFinder struct {
	directory *directory.Directory
	tasks     *store.Tasks
	stepper   *stepping.Stepper
	shared    bool // other processes may hand out steps of the same tasks
}

// find reads a task; one of another agent, or topic, does not exist.
func (f taskFinder) find(ctx context.Context, ref adapter.TaskRef) (mapping.Task, *engine.Agent, error) {
	agent, err := f.directory.Agent(ctx, ref.Agent)
	if err != nil {
		return mapping.Task{}, nil, err
	}
	p := mapping.PrincipalOf(ctx)
	t, ok := f.stepper.Known(p.Tenant, ref.ID)
	if !ok || f.shared || p.Limited() {
		if t, err = f.tasks.Get(ctx, ref.ID); err != nil {
			return mapping.Task{}, nil, err
		}
	}
	if t.Agent != agent.Name || ref.Topic != "" && t.ThreadID != ref.Topic {
		return mapping.Task{}, nil, mapping.Errorf(mapping.NotFound, mapping.CodeTaskNotFound, "There is no task %q of agent %s.", ref.ID, agent.Name)
	}
	return t, agent, nil
}

// topicFinder finds topics by what requests call them.
type topicFinder struct {
	directory *directory.Directory
	threads   *store.Threads
}

// find reads a topic's thread; one of another agent does not exist.
func (f topicFinder) find(ctx context.Context, ref adapter.TopicRef) (*engine.Agent, mapping.Thread, error) {
	agent, err := f.directory.Agent(ctx, ref.Agent)
	if err != nil {
		return nil, mapping.Thread{}, err
	}
	t, err := f.threads.Get(ctx, ref.ID)
	missing := err != nil && mapping.Classify(err).Class == mapping.NotFound
	if missing || err == nil && !rule.OwnTopic(t.Metadata, agent.Name) {
		err = mapping.Errorf(mapping.NotFound, mapping.CodeThreadNotFound, "There is no topic %q of agent %s.", ref.ID, agent.Name)
	}
	return agent, t, err
}

package engine

import "go.uber.org/zap"

func errField(err error) zap.Field     { return zap.Error(err) }
func runField(id string) zap.Field     { return zap.String("run", id) }
func agentField(name string) zap.Field { return zap.String("agent", name) }

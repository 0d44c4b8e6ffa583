package config

import "time"

// Default returns the configuration without any settings: loopback, SQLite in the working directory, no agents.
func Default() *Config {
	return &Config{
		Listen:         "127.0.0.1:8080",
		Database:       "apbridge.db",
		Synchronous:    "full",
		Encryption:     Encryption{Keys: []Secret{}, Write: "sealed"},
		ShutdownGrace:  30 * time.Second,
		Hosts:          []string{},
		TrustedProxies: []string{},
		Agents:         map[string]Agent{},
		Limits: Limits{
			Body:               16 << 20,
			RequestMemory:      128 << 20,
			MaxJSONDepth:       1000,
			Artifact:           1 << 30,
			UploadRate:         1 << 10,
			Event:              16 << 20,
			RunEvents:          1_000_000,
			RunBytes:           1 << 30,
			MaxFilesPerRequest: 1000,
			Messages:           10_000,
			MaxStateKeys:       10_000,
			MaxSupersteps:      10_000,
			MaxPruneThreads:    1000,
			Crons:              1000,
			Tenants:            map[string]Allowance{},
		},
		Retention: Retention{Events: 168 * time.Hour, Stateless: time.Hour, Failed: time.Hour},
		Store: Store{
			Index: Index{
				Fields:     []string{"$"},
				Headers:    map[string]Secret{},
				Batch:      32,
				BatchBytes: 256 << 10,
				Timeout:    10 * time.Second,
			},
			VectorCache: 256 << 20,
			TTL:         TTL{RefreshOnRead: true, Sweep: 1},
		},
		Webhooks: Webhooks{Hosts: []string{}},

		Auth:  Auth{Keys: []Key{}, JWT: []JWT{}, Certificates: []Certificate{}},
		Log:   Log{Level: "info", Format: "auto"},
		CORS:  CORS{Origins: []string{}},
		Audit: Audit{MaxSize: 100 << 20, Keep: 10, Reads: true},

		Inspector: Inspector{Mode: "auto", Capture: "errors"},
	}
}

// DefaultAgent returns the settings of an agent for which only a URL is configured.
func DefaultAgent() Agent {
	return Agent{
		Dialect:         "auto",
		Headers:         map[string]Secret{},
		Concurrency:     64,
		Queue:           10000,
		StepTimeout:     10 * time.Minute,
		RunTimeout:      time.Hour,
		Approval:        "auto",
		AnswerByMessage: "questions",
		Multitask:       "auto",
		Stepping: Stepping{
			Mode:         "auto",
			Idle:         10 * time.Minute,
			AutoAnswer:   "y",
			FollowUpRuns: true,
		},
		Artifacts: Artifacts{Path: "whole", Style: "object", Exclude: []string{}, MaxInline: 1 << 20},
		Memory:    Memory{History: "full", Mode: "prompt", MaxBytes: 90_000, Namespaces: []string{}},
	}
}

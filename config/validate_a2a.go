package config

import (
	"mime"
	"strings"
)

// maxInline bounds a2a.max_inline: readers of streams accept frames of at most 4 MiB, and base64 makes a file a third
// longer.
const maxInline = 2 << 20

func (r *report) checkA2A(cfg A2A) {
	r.atLeast("a2a.max_inline", int64(cfg.MaxInline), 0)
	if cfg.MaxInline > maxInline {
		r.problem("a2a.max_inline", "must be at most 2MiB: readers of streams accept frames of at most 4 MiB")
	}
	modes := map[string][]string{"a2a.input_modes": cfg.InputModes, "a2a.output_modes": cfg.OutputModes}
	for _, key := range sortedNames(modes) {
		if len(modes[key]) == 0 {
			r.problem(key, "needs at least one media type, which every card must have")
		}
		for _, mode := range modes[key] {
			if kind, params, err := mime.ParseMediaType(mode); err != nil || len(params) > 0 || !strings.Contains(kind, "/") {
				r.problem(key, "%q is not a media type; write one like text/plain or image/*", mode)
			}
		}
	}
}

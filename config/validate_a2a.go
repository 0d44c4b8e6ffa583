package config

import (
	"mime"
	"strconv"
	"strings"
)

// maxInline bounds a2a.max_inline: readers of streams accept frames of at most 4 MiB, and base64 makes a file a third
// longer.
const maxInline = 2 << 20

func (r *report) checkA2A(cfg A2A) {
	r.atLeast("a2a.max_inline", int64(cfg.MaxInline), 0)
	if cfg.MaxInline > maxInline {
		r.complain("a2a.max_inline", "must be at most 2MiB: readers of streams accept frames of at most 4 MiB")
	}
	for key, list := range map[string][]string{"a2a.input_modes": cfg.InputModes, "a2a.output_modes": cfg.OutputModes} {
		if len(list) == 0 {
			r.complain(key, "needs at least one media type, which every card must have")
		}
		for _, mode := range list {
			if kind, params, err := mime.ParseMediaType(mode); err != nil || len(params) > 0 || !strings.Contains(kind, "/") {
				r.complain(key, "%s is no media type; write one like text/plain or image/*", strconv.Quote(mode))
			}
		}
	}
}

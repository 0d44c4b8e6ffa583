package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

const day = 24 * time.Hour

// parseDuration reads the syntax of time.ParseDuration, and whole days (7d). Negative ones are refused.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * day, err
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		return 0, fmt.Errorf("negative duration %q", s)
	}
	return d, err
}

// parseBytes reads a size: a number with a unit in powers of 1024 (MiB) or 1000 (MB), or without one.
func parseBytes(s string) (Bytes, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("size %q is too large", s)
	}
	return Bytes(n), nil
}

// parseBool is stricter than strconv.ParseBool, because 1, t and yes are often mistakes.
func parseBool(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, fmt.Errorf("not a bool: %q", s)
	}
}

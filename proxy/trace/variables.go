package trace

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apbridge/apbridge/config"
)

// variables are the variables of an environment, and their problems.
type variables struct {
	set   map[string]string
	used  map[string]bool
	wrong config.Problems
}

func newVariables(environ []string) *variables {
	v := &variables{set: map[string]string{}, used: map[string]bool{}}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if value = strings.TrimSpace(value); strings.HasPrefix(name, "OTEL_") && value != "" {
			v.set[name] = value
		}
	}
	return v
}

// unread returns the set variables that are not read, except for those that disable something.
func (v *variables) unread() (list []string) {
	for name := range v.set {
		if !v.used[name] && v.set[name] != "none" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func (v *variables) get(name string) string {
	v.used[name] = true
	return v.set[name]
}

// problem reports a problem with a variable. It never shows a value that may be a secret.
func (v *variables) problem(name, format string, args ...any) {
	v.wrong = append(v.wrong, config.Problem{Where: "environment " + name, Text: fmt.Sprintf(format, args...)})
}

// err returns all problems, or nil.
func (v *variables) err() error {
	if len(v.wrong) == 0 {
		return nil
	}
	return v.wrong
}

func (v *variables) yes(name string) bool {
	value := v.get(name)
	switch strings.ToLower(value) {
	case "true":
		return true
	case "", "false":
	default:
		v.problem(name, "%q is neither true nor false", value)
	}
	return false
}

// otlp returns the variable of the exporter of traces, or else the one of all exporters: OTEL_EXPORTER_OTLP_what. name
// is the one that counts.
func (v *variables) otlp(what string) (name, value string) {
	general := v.get("OTEL_EXPORTER_OTLP_" + what)
	if own := v.get("OTEL_EXPORTER_OTLP_TRACES_" + what); own != "" {
		return "OTEL_EXPORTER_OTLP_TRACES_" + what, own
	}
	return "OTEL_EXPORTER_OTLP_" + what, general
}

// oneOf refuses a value that is not in the list, whose first element is the default.
func (v *variables) oneOf(name, value string, list ...string) string {
	value = cmp.Or(value, list[0])
	if !slices.Contains(list, value) {
		v.problem(name, "%q is not supported by this bridge. Set it to one of %s", value, strings.Join(list, ", "))
	}
	return value
}

// number reads an integer that is at least least. usual is the default.
func (v *variables) number(name, value string, usual, least int) int {
	if value == "" {
		return usual
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least {
		v.problem(name, "%q is not an integer of at least %d", value, least)
		return usual
	}
	return n
}

// milliseconds reads a duration as specified, at least 1 ms.
func (v *variables) milliseconds(name, value string, usual time.Duration) time.Duration {
	return time.Duration(v.number(name, value, int(usual/time.Millisecond), 1)) * time.Millisecond
}

// pairs reads name=value,name=value, with URL-encoded values (W3C Baggage, without properties).
func (v *variables) pairs(name, value string, each func(key, value string)) {
	for member := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(member) == "" {
			continue
		}
		key, raw, ok := strings.Cut(member, "=")
		plain, err := url.PathUnescape(strings.TrimSpace(raw))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			v.problem(name, "it must be NAME=VALUE,NAME=VALUE, with %%2C for a comma in a value")
			return
		}
		each(key, plain)
	}
}

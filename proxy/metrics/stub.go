// Package metrics counts what the bridge does.
package metrics

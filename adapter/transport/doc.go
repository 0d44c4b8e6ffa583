// Package transport carries calls to agents. It is a leaf: it knows requests, not
// what they mean.
package transport

// Package render writes what clients of the dialect read: the objects of answers and the
// frames of streams. It reads no request and asks no service.
package render

// Package upstream calls agents over HTTP for the backends of all dialects.
package upstream

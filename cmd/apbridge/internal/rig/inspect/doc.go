// Package inspect shows what people see of a bridge in a browser: the inspector, the pages / and /docs, and that the
// programs on them run as they are copied. It holds tests only.
package inspect

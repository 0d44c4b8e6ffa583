// Package render writes what clients of threads and runs read: the objects of answers, the frames of streams, and the
// body of a webhook. The face calls it, and the dialect's table names WebhookBody. It reads no request and asks no
// service.
package render

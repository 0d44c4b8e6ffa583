package protocol

import (
	"io"
	"time"

	"github.com/coder/websocket"
)

// A message that has begun must arrive at the pace of a request body. Between messages a connection may be idle.
const (
	piecePatience   = 30 * time.Second
	messagePatience = 5 * time.Minute
	// messagePiece is the number of bytes that must arrive within piecePatience. Each read is limited to it, because
	// the library returns from a read only when the buffer is full.
	messagePiece = 16 << 10
)

// pacedMessage closes the connection if the rest of a message does not arrive in time, because an unfinished message
// occupies memory for which others may be waiting.
type pacedMessage struct {
	io.Reader
	late     *time.Timer // closes the connection
	patience time.Duration
	latest   time.Time
}

func (k *socket) paced(message io.Reader) io.Reader {
	patience := k.s.piecePatience
	if patience == 0 {
		patience = piecePatience
	}
	late := time.AfterFunc(patience, func() {
		_ = k.conn.Close(websocket.StatusPolicyViolation, "The rest of the message did not arrive in time. Send it again.")
	})
	return &pacedMessage{message, late, patience, time.Now().Add(messagePatience)}
}

func (m *pacedMessage) Read(b []byte) (int, error) {
	m.late.Reset(min(m.patience, time.Until(m.latest)))
	n, err := m.Reader.Read(b[:min(len(b), messagePiece)])
	m.late.Stop()
	return n, err
}

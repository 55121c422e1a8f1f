package telemetry

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"holdfast/functions/internal/wire/jsonedit"
)

// NewLog returns a logger of JSON lines. Exchanges' own lines, of which every
// request has one, are written as a whole, without a list of attributes; all else
// goes through slog's handler to the same writer.
func NewLog(to io.Writer, level slog.Leveler) *slog.Logger {
	shared := &lines{to: to}
	return slog.New(&handler{slog.NewJSONHandler(shared, &slog.HandlerOptions{Level: level}), shared})
}

// handler is slog's for all but exchanges. With attributes or groups it is
// slog's for those as well.
type handler struct {
	slog.Handler
	lines *lines
}

// lines is a writer that several goroutines write whole lines to.
type lines struct {
	mu  sync.Mutex
	to  io.Writer
	own jsonedit.Writer // of the line that is written, its memory used again
}

// Write implements io.Writer for slog's handler, which hands over whole lines.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(line)
}

// exchange writes an exchange's line.
func (l *lines) exchange(e *Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := append(e.write(l.own.Reset()).Bytes(), '\n')
	_, _ = l.to.Write(line) // there is nowhere to say that this failed
	if cap(line) > maxLine {
		l.own = jsonedit.Writer{}
	}
}

// maxLine is how much memory is kept for the next line, in bytes.
const maxLine = 64 << 10

// write adds the line to an empty Writer: what slog's handler has before the
// attributes, and all members.
func (e *Exchange) write(w *jsonedit.Writer) *jsonedit.Writer {
	w.Object()
	w.Name(slog.TimeKey).Time(time.Now())
	w.Name(slog.LevelKey).Text("INFO").Name(slog.MessageKey).Text(message)
	e.members(w)
	return w.End()
}
